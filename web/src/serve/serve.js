import "../report.css";
import "./serve.css";
import { setUpCopying, setUpTheme } from "../page.js";
import { element } from "./elements.js";
import { FileList } from "./files.js";
import { QuestionForm } from "./form.js";
import { JobList } from "./jobs.js";
import { setUpPartitions } from "./partitions.js";
import { setUpRuns } from "./runs.js";
import { follow, read } from "./server.js";

const live = document.getElementById("live");
const say = (text) => {
  live.textContent = text;
};

const setup = JSON.parse(document.getElementById("setup").textContent);
document.getElementById("place").textContent = `${setup.folder} · version ${setup.version}`;

setUpTheme(document.getElementById("theme"), () => {});
setUpCopying(say);
setUpPartitions();
const lookForRuns = setUpRuns();
const form = new QuestionForm(setup.questions, say);
const jobs = new JobList(say);
const files = new FileList(say);

let finished = 0;
follow(
  (state) => {
    files.show(state.results);
    jobs.show(state.jobs, state.results);
    // The names that new results would get are others, and there are more runs.
    const now = state.jobs.filter((job) => job.ended !== "").length;
    if (now !== finished) lookForRuns();
    if (now !== finished) form.preview();
    finished = now;
  },
  (reached) => {
    document.getElementById("lost").hidden = reached;
  },
);

read("gpus").then(
  ({ columns, rows }) => {
    const names = rows.map((row) => row[columns[0].name]);
    document.getElementById("gpus").replaceChildren(...names.map((name) => element("option", { value: name })));
  },
  () => {}, // names can still be typed
);
