import { button, save, slug } from "./files.js";
import * as style from "./style.js";

const kMargin = 16;
const kTitleHeight = 34;
const kLegendLine = 20;

export const escaped = (text) =>
  String(text).replace(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c]);

/** A piece of text in an SVG; `more`: attributes. */
export const svgText = (text, x, y, more = "") =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${style.faint()}" ${more}>${escaped(text)}</text>`;

/** Where the entries of a legend stand in a picture of that width. */
function placed(entries, width, measure) {
  let [x, y] = [kMargin, kTitleHeight];
  return entries.map((entry) => {
    const wide = 22 + measure(entry.name) + 14;
    if (x > kMargin && x + wide > width) [x, y] = [kMargin, y + kLegendLine];
    const at = { ...entry, x, y };
    x += wide;
    return at;
  });
}

function layout(chart) {
  const measuring = document.createElement("canvas").getContext("2d");
  measuring.font = style.font(12);
  const { width, height } = chart.size();
  const legend = placed(chart.entries(), width + 2 * kMargin, (text) => measuring.measureText(text).width);
  const top = legend.length ? legend.at(-1).y + kLegendLine + 6 : kTitleHeight;
  return { width: width + 2 * kMargin, height: top + height + kMargin, top, legend };
}

export function svgOf(title, chart) {
  const { width, height, top, legend } = layout(chart);
  const marks = legend.map(
    ({ name, color, x, y }) => `<rect x="${x}" y="${y}" width="12" height="12" fill="${color}"/>${svgText(name, x + 20, y + 10)}`,
  );
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
    `font-family="${escaped(style.sans())}" font-size="12"><title>${escaped(title)}</title>` +
    `<rect width="${width}" height="${height}" fill="${style.page()}"/>` +
    `<text x="${kMargin}" y="22" font-size="15" font-weight="600" fill="${style.ink()}">${escaped(title)}</text>` +
    `${marks.join("")}<g transform="translate(${kMargin} ${top})">${chart.svg()}</g></svg>\n`
  );
}

/** As fine as the screen. */
export function pngOf(title, chart) {
  const { width, height, top, legend } = layout(chart);
  const canvas = document.createElement("canvas");
  const fine = devicePixelRatio;
  [canvas.width, canvas.height] = [width * fine, height * fine];
  const context = canvas.getContext("2d");
  context.scale(fine, fine);
  context.fillStyle = style.page();
  context.fillRect(0, 0, width, height);
  context.fillStyle = style.ink();
  context.font = `600 ${style.font(15)}`;
  context.fillText(title, kMargin, 22);
  context.font = style.font(12);
  for (const { name, color, x, y } of legend) {
    context.fillStyle = color;
    context.fillRect(x, y, 12, 12);
    context.fillStyle = style.faint();
    context.fillText(name, x + 20, y + 10);
  }
  const { width: w, height: h } = chart.size();
  context.drawImage(chart.drawn(), kMargin, top, w, h);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

export function offerPictures(figure, chart) {
  const title = figure.querySelector("figcaption").textContent;
  const tools = document.createElement("div");
  tools.className = "tools";
  tools.append(
    button("SVG", `Download ${title} as SVG`, () =>
      save(`${slug(title)}.svg`, new Blob([svgOf(title, chart)], { type: "image/svg+xml" })),
    ),
    button("PNG", `Download ${title} as PNG`, async () => save(`${slug(title)}.png`, await pngOf(title, chart))),
  );
  figure.append(tools);
}
