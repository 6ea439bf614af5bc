import { clockTime, element, localTime } from "./elements.js";
import { post } from "./server.js";

const kStates = {
  waiting: "waiting for its turn",
  running: "running",
  done: "done",
  failed: "failed",
  canceled: "canceled",
};

/** Questions that were asked, here or in another browser. What did not change keeps its elements, and with them the focus. */
export class JobList {
  constructor(say) {
    this.say = say;
    this.list = document.getElementById("jobs");
    this.items = new Map();
  }

  show(jobs, files) {
    document.getElementById("nothing-asked").hidden = jobs.length > 0;
    const there = new Set(files.map(({ file }) => file));
    jobs.forEach((job, i) => {
      const item = this.items.get(job.id) ?? this.make(job);
      if (this.list.children[i] !== item.root) this.list.insertBefore(item.root, this.list.children[i] ?? null);
      this.update(item, job, there.has(job.file));
    });
    const ids = new Set(jobs.map(({ id }) => id));
    for (const [id, item] of this.items)
      if (!ids.has(id)) {
        item.root.remove();
        this.items.delete(id);
      }
  }

  make(job) {
    const title = `title-${job.id}`;
    const item = {
      state: element("span", { class: "state" }),
      time: element("span", { class: "note" }),
      bar: element("progress", { max: 1, "aria-labelledby": title }),
      doing: element("p", { class: "doing" }),
      why: element("p", { class: "refusal" }),
      result: element("a", { href: `result?file=${encodeURIComponent(job.file)}` }, job.file),
      log: element("pre", { tabindex: "0", "aria-label": `What question ${job.id} says` }),
    };
    item.act = element("button", { type: "button", class: "tool", onclick: () => this.act(item) });
    item.said = element("details", {}, element("summary", {}, "What it says"), item.log);
    item.root = element("li", { id: `job-${job.id}` },
      element("div", { class: "head" }, element("h3", { id: title }, `${job.id}. ${job.title}`), item.state, item.time, item.act),
      element("code", {}, job.command), item.bar, item.doing, item.why, element("p", { class: "found" }, item.result), item.said);
    this.items.set(job.id, item);
    return item;
  }

  update(item, job, found) {
    const key = JSON.stringify([job, found]);
    if (item.key === key) return;
    const before = item.job?.state;
    [item.key, item.job] = [key, job];
    const running = job.state === "running";
    const atWork = running || job.state === "waiting";
    item.root.dataset.state = job.state;
    item.state.textContent = job.stopping ? "stopping" : kStates[job.state];
    item.time.textContent = localTime(job.ended || job.asked);
    item.bar.hidden = !running;
    item.bar.value = job.progress;
    const left = job.seconds_left === null ? "" : `, ${clockTime(job.seconds_left)} left`;
    item.doing.hidden = !running || job.doing === "";
    item.doing.textContent = `${job.doing}${left}`;
    item.why.hidden = job.why === "";
    item.why.textContent = job.why;
    item.act.hidden = job.state === "done";
    item.act.textContent = atWork ? "Cancel" : job.state === "failed" ? "Try again" : job.resumes ? "Resume" : "Begin anew";
    item.act.setAttribute("aria-label", `${item.act.textContent} question ${job.id}`);
    item.act.disabled = job.stopping;
    item.result.parentElement.hidden = !found;
    item.said.hidden = job.log.length === 0;
    item.log.textContent = job.log.join("\n");
    if (before && before !== job.state) this.say(`Question ${job.id} is ${kStates[job.state]}`);
  }

  async act(item) {
    const atWork = item.job.state === "running" || item.job.state === "waiting";
    try {
      await post(atWork ? "cancel" : "resume", { id: item.job.id });
    } catch (error) {
      this.say(error.message);
    }
  }
}
