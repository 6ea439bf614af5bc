import { ColoredChart } from "./colored_chart.js";
import { escaped, svgText } from "./pictures.js";
import * as style from "./style.js";

const kGap = 8; // between groups
const kPadding = 6; // of a group
const kHeading = 16;
const kBetween = 2; // between units
const kNarrowest = 92; // that a group may be
const kWide = 560; // from here on memory lies beside the cache

const css = (rgb) => `rgb(${rgb.join(" ")})`;

/** The units of a GPU where they belong: SMs above and below, the L2 cache between them, memory beside it. */
export class FloorPlan extends ColoredChart {
  constructor(element, plot, say) {
    super(element, plot, say);
    this.at = -1;
    this.groupOf = [];
    plot.groups.forEach((group) => group.units.forEach((unit) => (this.groupOf[unit] = group)));
  }

  /** Groups side by side from (left, top), in as many rows as they need; returns where they end. */
  placeRow(groups, left, top, width, cell) {
    if (!groups.length) return top;
    let rows = 1;
    const across = () => Math.ceil(groups.length / rows);
    const wide = () => (width - kGap * (across() - 1)) / across();
    while (rows < groups.length && wide() < kNarrowest) ++rows;
    for (let first = 0; first < groups.length; first += across()) {
      const row = groups.slice(first, first + across());
      let tallest = 0;
      row.forEach((group, i) => {
        const x = left + i * (wide() + kGap);
        tallest = Math.max(tallest, this.placeGroup(group, x, top, wide(), cell));
      });
      this.boxes.slice(-row.length).forEach((box) => (box.height = tallest));
      top += tallest + kGap;
    }
    return top;
  }

  placeGroup(group, x, y, width, cell) {
    const columns = Math.max(1, Math.floor((width - 2 * kPadding + kBetween) / (cell + kBetween)));
    const even = Math.ceil(group.units.length / Math.ceil(group.units.length / columns));
    group.units.forEach((unit, i) => {
      const [column, row] = [i % even, Math.floor(i / even)];
      this.places[unit] = {
        x: x + kPadding + column * (cell + kBetween),
        y: y + kHeading + kPadding + row * (cell + kBetween),
        size: cell,
      };
    });
    const height = kHeading + 2 * kPadding + Math.ceil(group.units.length / even) * (cell + kBetween) - kBetween;
    this.boxes.push({ group, x, y, width, height });
    return height;
  }

  layout() {
    const width = this.width();
    const names = [...new Set(this.plot.groups.map((group) => group.part))];
    const parts = names.map((name) => this.plot.groups.filter((group) => group.part === name));
    const [outer = [], inner = [], ...rest] = parts;
    const cell = this.plot.units.length > 160 ? 20 : 24;
    this.places = [];
    this.boxes = [];
    const half = Math.ceil(outer.length / 2);
    let top = this.placeRow(outer.slice(0, half), 0, 0, width, cell);
    const beside = rest[0] ?? [];
    if (width >= kWide && beside.length > 1) {
      const count = (groups) => groups.reduce((sum, group) => sum + group.units.length, 0);
      const share = count(beside) / (count(beside) + count(inner)) / 2;
      const wide = Math.max(kNarrowest, width * share);
      const middle = beside.length / 2;
      const ends = [
        this.placeColumn(beside.slice(0, middle), 0, top, wide, cell),
        this.placeRow(inner, wide + kGap, top, width - 2 * (wide + kGap), cell),
        this.placeColumn(beside.slice(middle), width - wide, top, wide, cell),
      ];
      top = Math.max(...ends);
    } else {
      top = this.placeRow(inner, 0, top, width, cell);
      top = this.placeRow(beside, 0, top, width, cell);
    }
    for (const part of rest.slice(1)) top = this.placeRow(part, 0, top, width, cell);
    top = this.placeRow(outer.slice(half), 0, top, width, cell);
    return { width, height: Math.max(1, top - kGap) };
  }

  placeColumn(groups, left, top, width, cell) {
    for (const group of groups) top += this.placeGroup(group, left, top, width, cell) + kGap;
    return top;
  }

  headingOf({ part, name, units }) {
    const count = `${units.length} ${part}${units.length === 1 ? "" : "s"}`;
    return name ? `${name}: ${count}` : count;
  }

  /** Everything that is drawn, in the order of drawing: boxes and words. */
  shapes() {
    const color = this.layer.colors();
    const all = [];
    for (const { group, x, y, width, height } of this.boxes) {
      all.push({ x, y, width, height, fill: style.soft(), line: style.line() });
      all.push({ text: this.headingOf(group), x: x + kPadding, y: y + kHeading - 2, size: 11, fill: style.faint(), room: width - 2 * kPadding });
    }
    this.places.forEach(({ x, y, size }, unit) => {
      const v = this.layer.values[unit];
      const drawable = this.layer.drawable(v);
      const rgb = drawable ? color(v) : null;
      all.push({ x, y, width: size, height: size, fill: rgb ? css(rgb) : style.page(), line: style.line() });
      const dark = rgb && rgb[0] + rgb[1] + rgb[2] <= 330;
      const fill = !rgb ? style.faint() : dark ? "#fff" : "#000";
      all.push({ text: this.plot.units[unit], x: x + size / 2, y: y + size / 2 + 3.5, size: 10, fill, centered: true, room: size - 2 });
    });
    return all;
  }

  draw() {
    const context = this.begin(this.layout());
    context.textBaseline = "alphabetic";
    for (const shape of this.shapes()) {
      context.fillStyle = shape.fill;
      if (shape.text !== undefined) {
        context.font = style.font(shape.size);
        context.textAlign = shape.centered ? "center" : "left";
        context.fillText(shape.text, shape.x, shape.y, shape.room);
        continue;
      }
      context.strokeStyle = shape.line;
      context.lineWidth = 1;
      context.fillRect(shape.x, shape.y, shape.width, shape.height);
      context.strokeRect(shape.x + 0.5, shape.y + 0.5, shape.width - 1, shape.height - 1);
    }
  }

  svg() {
    return this.shapes()
      .map((s) => {
        if (s.text === undefined)
          return `<rect x="${s.x.toFixed(1)}" y="${s.y.toFixed(1)}" width="${s.width.toFixed(1)}" height="${s.height.toFixed(1)}" fill="${escaped(s.fill)}" stroke="${s.line}"/>`;
        const anchor = s.centered ? 'text-anchor="middle"' : "";
        return svgText(s.text, s.x, s.y, `font-size="${s.size}" style="fill:${escaped(s.fill)}" ${anchor}`);
      })
      .join("");
  }

  words(unit) {
    const { part, name } = this.groupOf[unit];
    const title = `${part} ${this.plot.units[unit]}${name ? `, ${name}` : ""}`;
    const said = this.layers.filter((layer) => layer.drawable(layer.values[unit]));
    return [title, ...said.map((layer) => `${layer.name}: ${layer.words(layer.values[unit])}`)];
  }

  showTip(unit) {
    const { x, y, size } = this.places[unit];
    const [title, ...lines] = this.words(unit);
    this.tip.show(title, lines.map((text) => ({ text })), x + size / 2, y + size / 2, this.sizes.width);
  }

  onPointer({ offsetX, offsetY }) {
    const unit = this.places.findIndex(
      ({ x, y, size }) => offsetX >= x && offsetX < x + size && offsetY >= y && offsetY < y + size,
    );
    if (unit < 0) return this.tip.hide();
    this.showTip(unit);
  }

  onKey(event) {
    const last = this.plot.units.length - 1;
    const moves = { ArrowLeft: this.at - 1, ArrowRight: this.at + 1, Home: 0, End: last };
    if (event.key === "Escape") this.tip.hide();
    if (!(event.key in moves)) return;
    event.preventDefault();
    this.at = Math.min(last, Math.max(0, moves[event.key]));
    this.showTip(this.at);
    this.say(this.words(this.at).join(". "));
  }
}
