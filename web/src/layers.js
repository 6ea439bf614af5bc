import { rounded } from "./numbers.js";
import * as style from "./style.js";

const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

/** What colors say: for numbers a place on a ramp, for names a color each. */
export class Layer {
  constructor({ name, values, names }, logarithmic) {
    this.name = name;
    this.values = values;
    this.names = names ?? null;
    this.logarithmic = logarithmic && !names;
    const drawable = values.filter((v) => this.drawable(v));
    this.low = drawable.reduce((a, b) => Math.min(a, b), Infinity);
    this.high = drawable.reduce((a, b) => Math.max(a, b), -Infinity);
  }

  drawable(v) {
    return v !== null && v !== undefined && (!this.logarithmic || v > 0);
  }

  share(v) {
    if (this.high <= this.low) return 1;
    return this.logarithmic
      ? Math.log(v / this.low) / Math.log(this.high / this.low)
      : (v - this.low) / (this.high - this.low);
  }

  /** A function from values to [red, green, blue], of the theme there is now. */
  colors() {
    if (this.names) return (v) => channels(style.seriesColor(v));
    const heat = style.heatScale();
    return (v) => heat(this.share(v));
  }

  words(v) {
    if (!this.drawable(v)) return "–";
    return this.names ? this.names[v] : rounded(v);
  }

  /** What colors mean, for a picture without a ramp. */
  entries() {
    const color = this.colors();
    const css = (v) => `rgb(${color(v).join(" ")})`;
    if (this.names) return this.names.map((name, v) => ({ name, color: css(v) }));
    const entry = (v) => ({ name: `${this.name} ${rounded(v)}`, color: css(v) });
    return this.high > this.low ? [entry(this.low), entry(this.high)] : [entry(this.high)];
  }
}

/** Writes what the colors of a layer mean into an element. */
export function fillScale(element, layer) {
  element.replaceChildren();
  if (layer.names) {
    element.append(`${layer.name}:`);
    for (const { name, color } of layer.entries()) {
      const entry = document.createElement("span");
      entry.className = "named";
      const mark = document.createElement("span");
      mark.className = "swatch";
      mark.style.background = color;
      entry.append(mark, name);
      element.append(entry);
    }
    return;
  }
  if (layer.high <= layer.low) {
    element.append(`${layer.name}: ${rounded(layer.high)} everywhere`);
    return;
  }
  const ramp = document.createElement("span");
  ramp.className = "ramp";
  const heat = style.heatScale();
  const stops = Array.from({ length: 11 }, (_, i) => `rgb(${heat(i / 10).join(" ")})`);
  ramp.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  element.append(`${layer.name}: ${rounded(layer.low)}`, ramp, rounded(layer.high));
}

/** Buttons of which one is pressed: what colors show. Nothing where there is no choice. */
export function makeLayerChoice(layers, choose) {
  if (layers.length < 2) return null;
  const group = document.createElement("div");
  group.className = "layers";
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", "Color by");
  group.append("Color by");
  const buttons = layers.map((layer, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = layer.name;
    button.setAttribute("aria-pressed", String(i === 0));
    button.addEventListener("click", () => {
      buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
      choose(layer);
    });
    return button;
  });
  group.append(...buttons);
  return group;
}
