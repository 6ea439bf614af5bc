import { Layer, fillScale, makeLayerChoice } from "./layers.js";
import { Tip } from "./tip.js";

/** Values as colors on a canvas: what to color by is chosen above it, beside a scale; a tip tells the values. */
export class ColoredChart {
  constructor(element, plot, say) {
    this.plot = plot;
    this.say = say;
    this.layers = plot.layers.map((layer) => new Layer(layer, plot.logY));
    this.layer = this.layers[0];
    const choice = makeLayerChoice(this.layers, (layer) => {
      this.layer = layer;
      this.draw();
    });
    if (choice) element.before(choice);
    this.scale = document.createElement("p");
    this.scale.className = "scale";
    element.before(this.scale);
    this.canvas = document.createElement("canvas");
    this.area = document.createElement("div");
    this.area.className = "area";
    this.area.append(this.canvas);
    element.append(this.area);
    this.tip = new Tip(this.area);
    this.canvas.addEventListener("pointermove", (event) => this.onPointer(event));
    this.canvas.addEventListener("pointerleave", () => this.tip.hide());
    element.addEventListener("keydown", (event) => this.onKey(event));
    element.addEventListener("blur", () => this.tip.hide());
  }

  width() {
    return Math.max(240, this.area.clientWidth);
  }

  /** An empty canvas of that size, as fine as the screen, below the scale of the layer. */
  begin({ width, height }) {
    this.sizes = { width, height };
    fillScale(this.scale, this.layer);
    this.canvas.width = width * devicePixelRatio;
    this.canvas.height = height * devicePixelRatio;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d");
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    return context;
  }

  // For pictures: how large, as it is drawn, and what its colors mean.

  size() {
    return this.sizes;
  }

  drawn() {
    return this.canvas;
  }

  entries() {
    return this.layer.entries();
  }
}
