import { element, localTime } from "./elements.js";

/** Files of results: each opens its report, and two of them what changed. */
export class FileList {
  constructor(say) {
    this.say = say;
    this.rows = new Map();
    this.chosen = [];
    this.body = document.getElementById("files");
    this.filter = document.getElementById("filter");
    this.button = document.getElementById("compare");
    this.filter.addEventListener("input", () => this.filterRows());
    this.button.addEventListener("click", () => this.compare());
  }

  show(files) {
    document.getElementById("no-results").hidden = files.length > 0;
    document.getElementById("results").hidden = files.length === 0;
    const names = new Set(files.map(({ file }) => file));
    for (const [name, row] of this.rows)
      if (!names.has(name)) {
        row.root.remove();
        this.rows.delete(name);
      }
    files.forEach((file, i) => {
      const key = JSON.stringify(file);
      let row = this.rows.get(file.file);
      if (row?.key !== key) {
        const made = this.make(file, key);
        row?.root.replaceWith(made.root);
        this.rows.set(file.file, (row = made));
      }
      if (this.body.children[i] !== row.root) this.body.insertBefore(row.root, this.body.children[i] ?? null);
    });
    this.dates = new Map(files.map(({ file, date }) => [file, date]));
    this.chosen = this.chosen.filter((name) => names.has(name));
    this.filterRows();
    this.offer();
  }

  make(file, key) {
    const box = element("input", { type: "checkbox", "aria-label": `Compare ${file.file}` });
    box.checked = this.chosen.includes(file.file);
    box.addEventListener("change", () => this.choose(file.file, box.checked));
    const more = file.results > 1 ? ` and ${file.results - 1} more` : "";
    const root = element("tr", {},
      element("td", {}, box),
      element("th", { scope: "row", class: "prose" },
        element("a", { href: `result?file=${encodeURIComponent(file.file)}` }, file.file),
        element("span", { class: "about" }, `${file.title}${more}`),
        file.answer ? element("span", { class: "about note" }, file.answer) : null),
      element("td", { class: "words" }, file.gpu),
      element("td", { class: "words" }, localTime(file.date)));
    return { key, root, box, words: [file.file, file.title, file.answer, file.gpu].join(" ").toLowerCase() };
  }

  filterRows() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of this.rows.values()) {
      row.root.hidden = !words.every((word) => row.words.includes(word));
      if (!row.root.hidden) ++shown;
    }
    document.getElementById("filtered").textContent = words.length ? `${shown} of ${this.rows.size}` : "";
  }

  /** A third one takes the place of the first. */
  choose(name, wanted) {
    this.chosen = this.chosen.filter((other) => other !== name);
    if (wanted) this.chosen.push(name);
    if (this.chosen.length > 2) this.rows.get(this.chosen.shift()).box.checked = false;
    this.offer();
  }

  inOrder() {
    return [...this.chosen].sort((a, b) => this.dates.get(a).localeCompare(this.dates.get(b)));
  }

  offer() {
    this.button.disabled = this.chosen.length !== 2;
    const [before, after] = this.inOrder();
    document.getElementById("chosen").textContent =
      this.chosen.length === 2 ? `From ${before} to ${after}` : "Choose two to see what changed, the older one first.";
  }

  compare() {
    const [before, after] = this.inOrder();
    location.href = `difference?before=${encodeURIComponent(before)}&after=${encodeURIComponent(after)}`;
  }
}
