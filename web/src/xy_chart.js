/*! uPlot, which is bundled here:
 *
 * The MIT License (MIT)
 *
 * Copyright (c) 2022 Leon Sorokin
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy
 * of this software and associated documentation files (the "Software"), to deal
 * in the Software without restriction, including without limitation the rights
 * to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
 * copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in
 * all copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN
 * THE SOFTWARE.
 */
import uPlot from "uplot";
import { logTicks, rounded, shortened, tickTexts } from "./numbers.js";
import * as style from "./style.js";
import { svgText } from "./pictures.js";
import { Tip } from "./tip.js";

const kMarkLine = 16; // that the name of a mark takes above a chart
const kOverTick = 9; // what the upper half of the highest tick's number needs there
const kHeight = 320;
const kScatterHeight = 460;
const kMostInTip = 10;
const kFewPoints = 40;
const kFewCategories = 4;
const kWorthMagnifying = 0.1;
const kTurnedLine = 17; // from one line of words to the next at 45 degrees, along the axis
const kTickRoom = 52; // that a number below an axis needs

/** Lines, bars, stacked bars, cumulative distributions, histograms and scatter plots. */
export class XyChart {
  constructor(element, plot, say) {
    this.element = element;
    this.plot = plot;
    this.say = say;
    this.stacked = plot.kind === "stack";
    this.categorical = plot.kind === "bar" || this.stacked;
    this.marks = plot.marks ?? [];
    this.index = -1;
    let ours = -1;
    // A paper's series has the color and the place of ours, which stands before it.
    this.places = plot.series.map((s) => (s.paper ? Math.max(ours, 0) : ++ours));
    this.bars = this.stacked ? 1 : ours + 1;
    this.labels = []; // of a scatter plot, by the number of a point
    this.mostPoints = Math.max(0, ...plot.series.map((s) => s.x.length));
    this.shown = plot.series.map(() => true);
    this.data = this.alignedData();
    this.legend = this.makeLegend();
    this.area = document.createElement("div");
    this.area.className = "area";
    element.append(this.area);
    element.addEventListener("keydown", (event) => this.onKey(event));
    element.addEventListener("blur", () => this.tip?.hide());
  }

  alignedData() {
    const { plot } = this;
    const drawable = (v) => (plot.logY && v !== null && v <= 0 ? null : v);
    if (this.categorical) {
      const numbers = plot.categories.map((_, i) => i);
      const heights = plot.series.map((s) => {
        const all = numbers.map(() => null);
        s.x.forEach((x, i) => (all[x] = drawable(s.y[i])));
        return all;
      });
      return [numbers, ...heights];
    }
    if (plot.kind === "scatter") return this.scattered(drawable);
    return uPlot.join(plot.series.map((s) => [s.x, s.y.map(drawable)]));
  }

  /** Where each part of a bar ends, on what is shown of those before it. */
  piled() {
    const heights = this.data[0].map(() => 0);
    return [
      this.data[0],
      ...this.data.slice(1).map((values, i) =>
        values.map((v, k) => (v === null || !this.shown[i] ? null : (heights[k] += v))),
      ),
    ];
  }

  /** Every point has a place of its own, also where several have the same x. */
  scattered(drawable) {
    const points = this.plot.series.flatMap((s, i) => s.x.map((x, k) => ({ x, y: s.y[k], i, label: s.labels?.[k] })));
    points.sort((a, b) => a.x - b.x);
    this.labels = points.map((p) => p.label);
    const heights = this.plot.series.map((_, i) => points.map((p) => (p.i === i ? drawable(p.y) : null)));
    return [points.map((p) => p.x), ...heights];
  }

  /** From the least to the most of both axes, which are of the same kind where there is a diagonal. */
  bothAxes() {
    const all = this.data.flat().filter((v) => v !== null && v !== undefined && (v > 0 || !this.plot.logX));
    const [low, high] = [Math.min(...all), Math.max(...all)];
    return this.plot.logX ? [low / 1.3, high * 1.3] : [low - (high - low) * 0.05, high + (high - low) * 0.05];
  }

  makeLegend() {
    const list = document.createElement("ul");
    list.className = "legend";
    if (this.plot.series.length < 2) return list;
    const filled = ["bar", "stack", "histogram", "scatter"].includes(this.plot.kind);
    const numbers = this.plot.series.map((_, i) => i);
    const papers = numbers.filter((i) => this.plot.series[i].paper);
    for (const i of numbers.filter((n) => !papers.includes(n)))
      list.append(this.legendEntry(this.plot.series[i].name, filled ? "filled" : "line", [i]));
    if (papers.length) list.append(this.legendEntry("paper", "paper", papers));
    this.element.before(list);
    return list;
  }

  /** A button that shows and hides these series. */
  legendEntry(name, kind, numbers) {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    const mark = document.createElement("span");
    mark.className = `mark ${kind}`;
    mark.dataset.series = numbers[0];
    button.append(mark, name);
    button.addEventListener("click", () => {
      const show = !this.shown[numbers[0]];
      button.setAttribute("aria-pressed", String(show));
      for (const i of numbers) {
        this.shown[i] = show;
        if (!this.stacked) this.chart.setSeries(i + 1, { show });
      }
      if (this.stacked) this.draw();
    });
    const item = document.createElement("li");
    item.append(button);
    return item;
  }

  draw() {
    this.chart?.destroy();
    this.area.replaceChildren();
    this.legend.querySelectorAll(".mark").forEach((mark) => {
      const place = this.places[mark.dataset.series];
      mark.style.color = style.seriesColor(place);
      const dash = style.seriesDash(place);
      if (mark.classList.contains("line")) mark.style.borderTopStyle = dash.length ? "dashed" : "solid";
    });
    const width = Math.max(240, Math.floor(this.area.clientWidth));
    this.chart = new uPlot(this.options(width), this.stacked ? this.piled() : this.data, this.area);
    this.tip = new Tip(this.area);
  }

  options(width) {
    return {
      width,
      height: this.plot.kind === "scatter" ? kScatterHeight : kHeight + this.nameRoom(width),
      legend: { show: false },
      cursor: {
        y: false,
        drag: { setScale: false },
        points: { show: this.plot.kind === "line" },
      },
      padding: [(this.marks.length ? kOverTick : 8) + kMarkLine * this.marks.length, 20, 0, this.roomBefore(width)],
      scales: { x: this.xScale(), y: this.yScale() },
      axes: [this.xAxis(width), this.yAxis()],
      series: [{}, ...this.plot.series.map((s, i) => this.seriesOptions(s, i))],
      hooks: {
        drawAxes: [(u) => this.drawDiagonals(u)],
        draw: [(u) => this.drawPapers(u), (u) => this.drawMarks(u)],
        setCursor: [(u) => this.onCursor(u)],
      },
    };
  }

  xScale() {
    const { plot } = this;
    if (this.categorical) {
      // A few bars keep the width that they would have among more.
      const room = Math.max(0, (kFewCategories - plot.categories.length) / 2);
      return { time: false, range: () => [-0.5 - room, plot.categories.length - 0.5 + room] };
    }
    const marked = (low, high) => [Math.min(low, ...this.marks.map((m) => m.x)), Math.max(high, ...this.marks.map((m) => m.x))];
    if (plot.kind === "histogram") return { time: false, range: (u, low, high) => marked(low, high + plot.binWidth) };
    if (plot.band > 0) return { time: false, distr: plot.logX ? 3 : 1, range: () => this.bothAxes() };
    if (plot.logX)
      return { time: false, distr: 3, range: (u, low, high) => marked(low, high).map((v, i) => (i ? v * 1.15 : v / 1.15)) };
    if (!this.marks.length) return { time: false };
    return {
      time: false,
      range: (u, low, high) => {
        const [from, to] = marked(low, high);
        return [from, to + (to - from) * 0.02];
      },
    };
  }

  yScale() {
    if (this.plot.band > 0) return { distr: this.plot.logY ? 3 : 1, range: () => this.bothAxes() };
    if (this.plot.logY) return { distr: 3 };
    return {
      range: (u, low, high) => {
        if (low === null) return [0, 1];
        // Lines may leave out zero where they differ enough to be told apart without a magnifying glass.
        const far = this.plot.kind === "line" && low > 0.6 * high && high - low > kWorthMagnifying * high;
        const bottom = low < 0 ? low * 1.05 : far ? low - (high - low) * 0.1 : 0;
        const top = high > 0 ? high + (high - bottom) * 0.06 : 0;
        return [bottom, top > bottom ? top : bottom + 1];
      },
    };
  }

  axis() {
    return {
      stroke: style.faint(),
      font: style.font(),
      labelFont: style.font(),
      grid: { stroke: style.grid(), width: 1 },
      ticks: { stroke: style.grid(), width: 1, size: 5 },
    };
  }

  longestName() {
    const context = document.createElement("canvas").getContext("2d");
    context.font = style.font();
    return Math.max(0, ...(this.plot.categories ?? []).map((name) => context.measureText(shortened(name)).width));
  }

  /** What a name has below its bars; a few bars leave room at both sides. */
  nameWidth(width) {
    return (width - 70) / Math.max(kFewCategories, this.plot.categories.length);
  }

  turned(width) {
    return this.categorical && this.longestName() + 8 > this.nameWidth(width);
  }

  /** What the first name, turned, needs to the left of the axis, which is about 50 wide. */
  roomBefore(width) {
    if (!this.turned(width)) return 0;
    const free = (this.nameWidth(width) * (kFewCategories - this.plot.categories.length)) / 2;
    const half = this.nameWidth(width) / 2 + Math.max(0, free);
    return Math.max(0, Math.round(this.nameRoom(width) - 50 - half));
  }

  nameRoom(width) {
    return this.turned(width) ? Math.min(120, Math.round(this.longestName() * 0.75)) : 0;
  }

  xAxis(width) {
    const { plot } = this;
    const axis = { ...this.axis(), label: shortened(plot.xTitle, 80), labelSize: 22, size: 34 };
    if (!this.categorical) return { ...axis, ...this.numbers(plot.logX, Math.floor((width - 70) / kTickRoom)) };
    const room = width - 70 - this.roomBefore(width);
    const every = Math.max(1, Math.ceil((kTurnedLine * plot.categories.length) / room));
    return {
      ...axis,
      grid: { show: false },
      ticks: { show: false },
      splits: () => plot.categories.map((_, i) => i),
      values: (u, splits) => splits.map((i) => (i % every ? "" : shortened(plot.categories[i]))),
      rotate: this.turned(width) ? 45 : 0,
      size: 34 + this.nameRoom(width),
    };
  }

  yAxis() {
    return {
      ...this.axis(),
      label: shortened(this.plot.yTitle, 48),
      labelSize: this.plot.yTitle ? 22 : 0,
      size: (u, values) => {
        u.ctx.save();
        u.ctx.font = style.font(12 * devicePixelRatio);
        const widest = Math.max(0, ...(values ?? []).map((v) => u.ctx.measureText(v ?? "").width));
        u.ctx.restore();
        return Math.ceil(widest / devicePixelRatio) + 14;
      },
      ...this.numbers(this.plot.logY),
    };
  }

  /** Where an axis of numbers has its ticks, and what they say. */
  numbers(logarithmic, most) {
    const values = (u, splits) => tickTexts(splits);
    if (!logarithmic) return { values };
    return { values, splits: (u, axis, low, high) => logTicks(low, high, most), filter: (u, splits) => splits };
  }

  seriesOptions(series, i) {
    const color = style.seriesColor(this.places[i]);
    const common = { label: series.name, show: this.shown[i], points: { show: false } };
    if (series.paper) return { ...common, paths: () => null, stroke: color };
    switch (this.plot.kind) {
      case "bar":
      case "stack":
        return { ...common, fill: color, stroke: color, width: 0, paths: (u, s) => this.barPaths(u, s, this.stacked ? 0 : this.places[i]) };
      case "histogram":
        return { ...common, fill: color + "80", stroke: color, width: 1, paths: (u, s) => this.binPaths(u, s) };
      case "scatter":
        return { ...common, stroke: color, paths: () => null, points: { show: true, size: 7, width: 1, stroke: color, fill: color + "b0" } };
      case "cdf":
        return { ...common, stroke: color, width: 2, dash: style.seriesDash(this.places[i]), paths: uPlot.paths.stepped({ align: 1 }) };
      default:
        return {
          ...common,
          stroke: color,
          width: 2,
          dash: style.seriesDash(this.places[i]),
          points: { show: this.mostPoints <= kFewPoints, size: 6, fill: style.page() },
        };
    }
  }

  /** Left edge and width of a bar, in pixels of the canvas. */
  barPlace(u, number, place) {
    const left = u.valToPos(number - 0.4, "x", true);
    const wide = (u.valToPos(number + 0.4, "x", true) - left) / this.bars;
    return [left + wide * place, wide];
  }

  rectangles(u, series, edges) {
    const path = new Path2D();
    const bottom = u.bbox.top + u.bbox.height;
    const zero = this.plot.logY ? bottom : u.valToPos(0, "y", true);
    u.data[series].forEach((v, i) => {
      if (v === null || v === undefined || v === 0) return;
      const top = u.valToPos(v, "y", true);
      const [left, wide] = edges(i);
      const base = this.stacked ? u.valToPos(v - this.data[series][i], "y", true) : zero;
      path.rect(left, Math.min(top, base), wide, Math.abs(base - top));
    });
    return { stroke: path, fill: path };
  }

  barPaths(u, series, place) {
    return this.rectangles(u, series, (i) => {
      const [left, wide] = this.barPlace(u, i, place);
      return [left + wide * 0.04, wide * 0.92];
    });
  }

  binPaths(u, series) {
    return this.rectangles(u, series, (i) => {
      const left = u.valToPos(u.data[0][i], "x", true);
      return [left, u.valToPos(u.data[0][i] + this.plot.binWidth, "x", true) - left];
    });
  }

  /** y = x, and as far above and below it as the band reaches. */
  drawDiagonals(u) {
    if (!(this.plot.band > 0)) return;
    const [low, high] = [u.scales.x.min, u.scales.x.max];
    const { ctx } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    ctx.clip();
    ctx.strokeStyle = style.faint();
    ctx.lineWidth = devicePixelRatio;
    for (const factor of [1, 1 + this.plot.band, 1 - this.plot.band]) {
      ctx.setLineDash(factor === 1 ? [] : [4 * devicePixelRatio, 3 * devicePixelRatio]);
      ctx.beginPath();
      ctx.moveTo(u.valToPos(low, "x", true), u.valToPos(low * factor, "y", true));
      ctx.lineTo(u.valToPos(high, "x", true), u.valToPos(high * factor, "y", true));
      ctx.stroke();
    }
    ctx.restore();
  }

  /** How far above the chart the name of a mark stands: where no curve passes. */
  markHeight(i) {
    return kOverTick + kMarkLine * (this.marks.length - 1 - i);
  }

  /** Lines down the chart, named above it. */
  drawMarks(u) {
    const { ctx } = u;
    ctx.save();
    ctx.font = style.font(12 * devicePixelRatio);
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.strokeStyle = style.ink();
    this.marks.forEach((mark, i) => {
      const x = u.valToPos(mark.x, "x", true);
      const base = u.bbox.top - this.markHeight(i) * devicePixelRatio;
      ctx.beginPath();
      ctx.moveTo(x, base - 8 * devicePixelRatio);
      ctx.lineTo(x, u.bbox.top + u.bbox.height);
      ctx.stroke();
      const name = this.markName(mark);
      const wide = ctx.measureText(name).width;
      const fits = x + wide + 8 * devicePixelRatio < u.bbox.left + u.bbox.width;
      const left = fits ? x + 6 * devicePixelRatio : x - 6 * devicePixelRatio - wide;
      ctx.fillStyle = style.ink();
      ctx.textAlign = "left";
      ctx.textBaseline = "alphabetic";
      ctx.fillText(name, Math.max(0, left), base);
    });
    ctx.restore();
  }

  markName({ name, x }) {
    return `${shortened(name, 40)}: ${rounded(x)}`;
  }

  drawPapers(u) {
    const { ctx } = u;
    const size = 5 * devicePixelRatio;
    this.plot.series.forEach((s, i) => {
      if (!s.paper || !this.shown[i]) return;
      ctx.save();
      ctx.lineWidth = 1.8 * devicePixelRatio;
      ctx.strokeStyle = style.ink();
      ctx.fillStyle = style.page();
      u.data[i + 1].forEach((v, at) => {
        if (v === null || v === undefined) return;
        let x = u.valToPos(u.data[0][at], "x", true);
        if (this.categorical) {
          const [left, wide] = this.barPlace(u, at, this.places[i]);
          x = left + wide / 2;
        }
        const y = u.valToPos(v, "y", true);
        ctx.beginPath();
        ctx.moveTo(x, y - size);
        ctx.lineTo(x + size * 0.8, y);
        ctx.lineTo(x, y + size);
        ctx.lineTo(x - size * 0.8, y);
        ctx.closePath();
        ctx.fill();
        ctx.stroke();
      });
      ctx.restore();
    });
  }

  // For pictures: how large, as it is drawn, what its colors mean, and as SVG.

  size() {
    return { width: this.chart.width, height: this.chart.height };
  }

  drawn() {
    return this.chart.ctx.canvas;
  }

  entries() {
    if (this.plot.series.length === 1) return [];
    return this.plot.series
      .map((s, i) => ({ name: s.name, color: s.paper ? style.ink() : style.seriesColor(this.places[i]), i }))
      .filter(({ i }) => this.shown[i]);
  }

  svg() {
    const u = this.chart;
    const fine = devicePixelRatio;
    const box = { left: u.bbox.left / fine, top: u.bbox.top / fine, width: u.bbox.width / fine, height: u.bbox.height / fine };
    const [right, bottom] = [box.left + box.width, box.top + box.height];
    const at = (v, scale) => u.valToPos(v, scale) + (scale === "x" ? box.left : box.top);
    const line = (x1, y1, x2, y2, color, more = "") =>
      `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" stroke="${color}" ${more}/>`;
    const parts = [];
    const [xs, ys] = u.axes;
    ys._splits.forEach((v, i) => {
      if (v === null || v < u.scales.y.min || v > u.scales.y.max) return;
      parts.push(line(box.left, at(v, "y"), right, at(v, "y"), style.grid()));
      parts.push(svgText(ys._values[i] ?? "", box.left - 8, at(v, "y") + 4, 'text-anchor="end"'));
    });
    const turned = this.turned(u.width);
    xs._splits.forEach((v, i) => {
      if (v === null || v < u.scales.x.min || v > u.scales.x.max) return;
      const [x, y] = [at(v, "x"), bottom + 16];
      const how = turned ? `text-anchor="end" transform="rotate(-45 ${x.toFixed(1)} ${y.toFixed(1)})"` : 'text-anchor="middle"';
      if (!this.categorical) parts.push(line(x, box.top, x, bottom, style.grid()));
      parts.push(svgText(xs._values[i] ?? "", x, y, how));
    });
    parts.push(svgText(this.plot.xTitle, (box.left + right) / 2, u.height - 4, 'text-anchor="middle"'));
    const middle = (box.top + bottom) / 2;
    parts.push(svgText(this.plot.yTitle, 12, middle, `text-anchor="middle" transform="rotate(-90 12 ${middle.toFixed(1)})"`));
    if (this.plot.band > 0)
      for (const factor of [1, 1 + this.plot.band, 1 - this.plot.band]) {
        const [low, high] = [u.scales.x.min, u.scales.x.max];
        const dashed = factor === 1 ? "" : 'stroke-dasharray="4 3"';
        parts.push(line(at(low, "x"), at(low * factor, "y"), at(high, "x"), at(high * factor, "y"), style.faint(), dashed));
      }
    this.plot.series.forEach((s, i) => {
      if (this.shown[i]) parts.push(this.svgSeries(s, i, at));
    });
    this.marks.forEach((mark, i) => {
      const x = at(mark.x, "x");
      const before = x > (box.left + right) / 2;
      const base = box.top - this.markHeight(i);
      parts.push(line(x, base - 8, x, bottom, style.ink(), 'stroke-dasharray="5 4"'));
      parts.push(svgText(this.markName(mark), x + (before ? -6 : 6), base, `text-anchor="${before ? "end" : "start"}"`));
    });
    return parts.join("");
  }

  svgSeries(series, i, at) {
    const u = this.chart;
    const color = style.seriesColor(this.places[i]);
    const points = this.data[0].map((x, k) => [x, this.data[i + 1][k]]).filter(([, y]) => y !== null && y !== undefined);
    const half = (x) => u.valToPos(x + 0.4, "x") - u.valToPos(x, "x");
    const barWide = this.categorical ? (2 * half(0)) / this.bars : 0;
    const barLeft = (x) => at(x, "x") - half(0) + (this.stacked ? 0 : barWide * this.places[i]);
    if (series.paper)
      return points
        .map(([x, y]) => {
          const [cx, cy] = [this.categorical ? barLeft(x) + barWide / 2 : at(x, "x"), at(y, "y")];
          return `<path d="M${cx} ${cy - 5}L${cx + 4} ${cy}L${cx} ${cy + 5}L${cx - 4} ${cy}Z" fill="${style.page()}" stroke="${style.ink()}" stroke-width="1.8"/>`;
        })
        .join("");
    if (this.plot.kind === "scatter")
      return points.map(([x, y]) => `<circle cx="${at(x, "x").toFixed(1)}" cy="${at(y, "y").toFixed(1)}" r="3.5" fill="${color}"/>`).join("");
    if (this.stacked)
      return points
        .map(([x, v]) => {
          const end = u.data[i + 1][x];
          const [top, base] = [at(end, "y"), at(end - v, "y")];
          return `<rect x="${(barLeft(x) + barWide * 0.04).toFixed(1)}" y="${top.toFixed(1)}" width="${(barWide * 0.92).toFixed(1)}" height="${(base - top).toFixed(1)}" fill="${color}"/>`;
        })
        .join("");
    if (this.plot.kind === "bar" || this.plot.kind === "histogram") {
      const zero = at(this.plot.logY ? u.scales.y.min : Math.max(0, u.scales.y.min), "y");
      return points
        .map(([x, y]) => {
          const bin = this.plot.kind === "histogram";
          const left = bin ? at(x, "x") : barLeft(x) + barWide * 0.04;
          const wide = bin ? at(x + this.plot.binWidth, "x") - left : barWide * 0.92;
          const top = Math.min(zero, at(y, "y"));
          return `<rect x="${left.toFixed(1)}" y="${top.toFixed(1)}" width="${wide.toFixed(1)}" height="${Math.abs(zero - at(y, "y")).toFixed(1)}" fill="${color}"${bin ? ' fill-opacity="0.5"' : ""}/>`;
        })
        .join("");
    }
    const step = this.plot.kind === "cdf";
    const path = points.map(([x, y], k) => {
      const to = `${at(x, "x").toFixed(1)} ${at(y, "y").toFixed(1)}`;
      return k === 0 ? `M${to}` : step ? `H${at(x, "x").toFixed(1)}V${at(y, "y").toFixed(1)}` : `L${to}`;
    });
    const dash = style.seriesDash(this.places[i]);
    return `<path d="${path.join("")}" fill="none" stroke="${color}" stroke-width="2"${dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : ""}/>`;
  }

  placeName(index) {
    const x = this.data[0][index];
    if (this.categorical) return this.plot.categories[x];
    const name = this.plot.xTitle ? `${this.plot.xTitle}: ` : "";
    if (this.labels[index]) return `${this.labels[index]}, ${name}${rounded(x)}`;
    if (this.plot.kind === "histogram") return `${name}${rounded(x)} to ${rounded(x + this.plot.binWidth)}`;
    return name + rounded(x);
  }

  valuesAt(index) {
    const lines = [];
    this.plot.series.forEach((s, i) => {
      const v = this.data[i + 1][index];
      if (!this.shown[i] || v === null || v === undefined) return;
      lines.push({ text: `${s.name}: ${rounded(v)}`, color: style.seriesColor(this.places[i]) });
    });
    return lines;
  }

  /** The point that is nearest on the screen; its neighbours along an axis may be far above or below. */
  nearest(u, left, top) {
    let best = 0;
    let least = Infinity;
    this.data[0].forEach((x, i) => {
      const series = this.plot.series.findIndex((_, s) => this.shown[s] && this.data[s + 1][i] !== null);
      if (series < 0) return;
      const away = Math.hypot(u.valToPos(x, "x") - left, u.valToPos(this.data[series + 1][i], "y") - top);
      if (away < least) [least, best] = [away, i];
    });
    return best;
  }

  onCursor(u) {
    const { idx, left, top } = u.cursor;
    if (idx === null || idx === undefined || left < 0 || !this.tip) {
      this.tip?.hide();
      return;
    }
    this.index = this.plot.kind === "scatter" ? this.nearest(u, left, top) : idx;
    const lines = this.valuesAt(this.index);
    const more = lines.length - kMostInTip;
    const shown = more > 0 ? [...lines.slice(0, kMostInTip), { text: `and ${more} more` }] : lines;
    const [x, y] = [u.over.offsetLeft + left, u.over.offsetTop + top];
    this.tip.show(this.placeName(this.index), shown, x, y, this.area.clientWidth);
  }

  onKey(event) {
    const last = this.data[0].length - 1;
    const moves = { ArrowLeft: this.index - 1, ArrowRight: this.index + 1, Home: 0, End: last };
    if (event.key === "Escape") this.chart.setCursor({ left: -10, top: -10 });
    if (!(event.key in moves)) return;
    event.preventDefault();
    this.index = Math.min(last, Math.max(0, moves[event.key]));
    const left = this.chart.valToPos(this.data[0][this.index], "x");
    const series = this.plot.series.findIndex((_, s) => this.data[s + 1][this.index] !== null);
    const scattered = this.plot.kind === "scatter" && series >= 0;
    const top = scattered ? this.chart.valToPos(this.data[series + 1][this.index], "y") : this.chart.over.clientHeight / 3;
    this.chart.setCursor({ left, top });
    this.say([this.placeName(this.index), ...this.valuesAt(this.index).map((line) => line.text)].join(". "));
  }
}
