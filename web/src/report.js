import "uplot/dist/uPlot.min.css";
import "./report.css";
import { FloorPlan } from "./floor_plan.js";
import { HeatMap } from "./heat_map.js";
import { XyChart } from "./xy_chart.js";
import { setUpChoices } from "./choices.js";
import { setUpContents } from "./contents.js";
import { offerPictures } from "./pictures.js";
import { setUpTables } from "./tables.js";
import { setUpTrace } from "./trace.js";
import { setUpCopying, setUpPrinting, setUpTheme } from "./page.js";

const live = document.getElementById("live");
const say = (text) => {
  live.textContent = text;
};

const kKinds = { heatmap: HeatMap, floorplan: FloorPlan };

const charts = [];
for (const figure of document.querySelectorAll("figure.chart")) {
  const from = figure.dataset.of ? document.getElementById(figure.dataset.of) : figure;
  const plot = JSON.parse(from.querySelector("script").textContent);
  const Kind = kKinds[plot.kind] ?? XyChart;
  const chart = new Kind(figure.querySelector(".plot"), plot, say);
  offerPictures(figure, chart);
  charts.push({ figure, chart });
}

/** A chart that is not shown has no width; it is drawn when it is. */
const drawIn = (element) =>
  charts.forEach(({ figure, chart }) => {
    if (element.contains(figure) && figure.offsetParent !== null) chart.draw();
  });
const drawAll = () => drawIn(document);

setUpTables(say);
setUpChoices(drawIn, say);
setUpContents();
drawAll();
setUpTheme(document.getElementById("theme"), drawAll);
setUpCopying(say);
setUpTrace(say);
setUpPrinting(drawAll);

let width = window.innerWidth;
let waiting = 0;
window.addEventListener("resize", () => {
  // A phone that shows or hides its address bar changes only the height.
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(drawAll, 120);
});
