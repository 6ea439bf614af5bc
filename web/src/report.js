import "uplot/dist/uPlot.min.css";
import "./report.css";
import { HeatMap } from "./heat_map.js";
import { XyChart } from "./xy_chart.js";
import { makeSortable } from "./tables.js";
import { setUpCopying, setUpPrinting, setUpTheme } from "./page.js";

const live = document.getElementById("live");
const say = (text) => {
  live.textContent = text;
};

const charts = [];
for (const figure of document.querySelectorAll("figure.chart")) {
  const plot = JSON.parse(figure.querySelector("script").textContent);
  const Kind = plot.kind === "heatmap" ? HeatMap : XyChart;
  charts.push(new Kind(figure.querySelector(".plot"), plot, say));
}

const drawAll = () => charts.forEach((chart) => chart.draw());

drawAll();
document.querySelectorAll("table").forEach((table) => makeSortable(table, say));
setUpTheme(document.getElementById("theme"), drawAll);
setUpCopying(say);
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
