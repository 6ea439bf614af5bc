import { ColoredChart } from "./colored_chart.js";
import { shortened } from "./numbers.js";
import { svgText } from "./pictures.js";
import * as style from "./style.js";

const kTallest = 520;
const kLargestCell = 64;
const kTurnedLine = 16; // from one line of words to the next at 45 degrees, along the edge
const kTop = 6; // for the upper half of the first row's name

/** A matrix of values as colors, with a scale above it. */
export class HeatMap extends ColoredChart {
  constructor(element, plot, say) {
    super(element, plot, say);
    this.at = { row: 0, column: -1 };
  }

  layout(context) {
    const { rows, categories } = this.plot;
    context.font = style.font(11);
    const widest = (names) => Math.max(0, ...names.map((name) => context.measureText(shortened(name)).width));
    const width = this.width();
    const names = Math.min(width * 0.35, widest(rows));
    const left = Math.ceil(names) + 10;
    const cellWidth = Math.min(kLargestCell, (width - left - 12) / categories.length);
    const cellHeight = Math.max(1, Math.min(26, kTallest / rows.length, Math.max(cellWidth, 14)));
    const across = widest(categories);
    const turned = across + 6 > cellWidth;
    const below = (turned ? Math.min(120, across * 0.75 + 10) : 18) + 20;
    return { width, left, names, cellWidth, cellHeight, turned, height: Math.ceil(kTop + cellHeight * rows.length + below + 6) };
  }

  draw() {
    const { plot } = this;
    this.place = this.layout(this.canvas.getContext("2d"));
    const context = this.begin(this.place);
    const color = this.layer.colors();
    plot.rows.forEach((_, row) => plot.categories.forEach((__, column) => this.drawCell(context, color, row, column)));
    this.drawRowNames(context);
    this.drawColumnNames(context);
  }

  drawCell(context, color, row, column) {
    const v = this.layer.values[row * this.plot.categories.length + column];
    if (!this.layer.drawable(v)) return;
    const { left, cellWidth, cellHeight } = this.place;
    const rgb = color(v);
    const [x, y] = [left + column * cellWidth, kTop + row * cellHeight];
    const gap = cellHeight > 6 && cellWidth > 6 ? 0.75 : 0;
    // Edges within a pixel would show as a grid of fine lines.
    const edge = (at) => (gap ? at : Math.round(at * devicePixelRatio) / devicePixelRatio);
    const [right, bottom] = [edge(x + cellWidth - gap), edge(y + cellHeight - gap)];
    context.fillStyle = `rgb(${rgb.join(" ")})`;
    context.fillRect(edge(x + gap), edge(y + gap), right - edge(x + gap), bottom - edge(y + gap));
    if (cellWidth < 36 || cellHeight < 16) return;
    context.font = style.font(11);
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = rgb[0] + rgb[1] + rgb[2] > 330 ? "#000" : "#fff";
    const words = this.layer.names ? this.layer.names[v] : String(Number(v.toPrecision(3)));
    context.fillText(words, x + cellWidth / 2, y + cellHeight / 2, cellWidth - 4);
  }

  drawRowNames(context) {
    const { left, cellHeight, names } = this.place;
    context.font = style.font(11);
    context.fillStyle = style.faint();
    context.textAlign = "right";
    context.textBaseline = "middle";
    const every = Math.ceil(12 / cellHeight);
    this.plot.rows.forEach((name, row) => {
      if (row % every === 0) context.fillText(shortened(name), left - 6, kTop + (row + 0.5) * cellHeight, names);
    });
  }

  drawColumnNames(context) {
    const { left, cellWidth, cellHeight, turned, height } = this.place;
    const bottom = kTop + cellHeight * this.plot.rows.length;
    const every = Math.ceil((turned ? kTurnedLine : 13) / cellWidth);
    context.fillStyle = style.faint();
    context.textBaseline = "top";
    this.plot.categories.forEach((name, column) => {
      if (column % every) return;
      context.save();
      context.translate(left + (column + 0.5) * cellWidth, bottom + 5);
      context.rotate(turned ? -Math.PI / 4 : 0);
      context.textAlign = turned ? "right" : "center";
      context.fillText(shortened(name), 0, 0);
      context.restore();
    });
    context.textAlign = "left";
    context.textBaseline = "bottom";
    const axes = this.axesNames();
    context.fillText(axes, this.axesFrom(context.measureText(axes).width), height);
  }

  axesNames() {
    return shortened(`across: ${this.plot.xTitle}, down: ${this.plot.rowTitle}`, 80);
  }

  /** Below the first column, or as far before it as words so wide need. */
  axesFrom(wide) {
    return Math.max(0, Math.min(this.place.left, this.place.width - wide));
  }

  svg() {
    const { left, cellWidth, cellHeight, turned, height } = this.place;
    const { rows, categories } = this.plot;
    const color = this.layer.colors();
    const parts = [];
    this.layer.values.forEach((v, i) => {
      if (!this.layer.drawable(v)) return;
      const [x, y] = [left + (i % categories.length) * cellWidth, kTop + Math.floor(i / categories.length) * cellHeight];
      const place = `x="${x.toFixed(2)}" y="${y.toFixed(2)}" width="${cellWidth.toFixed(2)}" height="${cellHeight.toFixed(2)}"`;
      parts.push(`<rect ${place} fill="rgb(${color(v).join(",")})"/>`);
    });
    const everyRow = Math.ceil(12 / cellHeight);
    const everyColumn = Math.ceil((turned ? kTurnedLine : 13) / cellWidth);
    rows.forEach((name, row) => {
      if (row % everyRow === 0)
        parts.push(svgText(shortened(name), left - 6, kTop + (row + 0.5) * cellHeight + 4, 'text-anchor="end" font-size="11"'));
    });
    const bottom = kTop + cellHeight * rows.length;
    categories.forEach((name, column) => {
      if (column % everyColumn) return;
      const [x, y] = [left + (column + 0.5) * cellWidth, bottom + 14];
      const how = turned ? `text-anchor="end" transform="rotate(-45 ${x.toFixed(1)} ${y.toFixed(1)})"` : 'text-anchor="middle"';
      parts.push(svgText(shortened(name), x, y, `${how} font-size="11"`));
    });
    const context = this.canvas.getContext("2d");
    context.font = style.font(11);
    const axes = this.axesNames();
    parts.push(svgText(axes, this.axesFrom(context.measureText(axes).width), height, 'font-size="11"'));
    return parts.join("");
  }

  words(row, column) {
    const i = row * this.plot.categories.length + column;
    const title = this.plot.labels?.[i] || `${this.plot.rows[row]} / ${this.plot.categories[column]}`;
    return [title, ...this.layers.map((layer) => `${layer.name}: ${layer.words(layer.values[i])}`)];
  }

  showTip(row, column) {
    const { left, cellWidth, cellHeight, width } = this.place;
    const [title, ...lines] = this.words(row, column);
    const [x, y] = [left + (column + 0.5) * cellWidth, kTop + (row + 0.5) * cellHeight];
    this.tip.show(title, lines.map((text) => ({ text })), x, y, width);
  }

  onPointer(event) {
    const { left, cellWidth, cellHeight } = this.place;
    const column = Math.floor((event.offsetX - left) / cellWidth);
    const row = Math.floor((event.offsetY - kTop) / cellHeight);
    const inside = column >= 0 && column < this.plot.categories.length && row >= 0 && row < this.plot.rows.length;
    if (!inside) return this.tip.hide();
    this.showTip(row, column);
  }

  onKey(event) {
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (event.key === "Escape") this.tip.hide();
    if (!(event.key in steps)) return;
    event.preventDefault();
    const [down, right] = steps[event.key];
    const within = (n, most) => Math.min(most - 1, Math.max(0, n));
    this.at.row = within(this.at.row + down, this.plot.rows.length);
    this.at.column = within(this.at.column + right, this.plot.categories.length);
    this.showTip(this.at.row, this.at.column);
    this.say(this.words(this.at.row, this.at.column).join(". "));
  }
}
