import { element, localTime } from "./elements.js";
import { read } from "./server.js";

/** Runs that are kept, so that a question asked again takes them from there. Looked up when they are unfolded. */
export function setUpRuns() {
  const said = document.getElementById("runs-said");
  const folded = document.getElementById("runs");
  const look = async () => {
    try {
      const { folder, count, runs } = await read("runs");
      said.textContent = folder ? `${count} in ${folder}. A question that was stopped takes from there what it has done.` : "None are kept.";
      const more = count > runs.length ? [element("li", { class: "note" }, `and ${count - runs.length} older ones`)] : [];
      folded.hidden = count === 0;
      folded.querySelector("ul").replaceChildren(
        ...runs.map(({ name, date }) =>
          element("li", {}, element("a", { href: `run?name=${encodeURIComponent(name)}` }, name), " ", element("span", { class: "note" }, localTime(date)))),
        ...more);
    } catch (error) {
      said.textContent = error.message;
    }
  };
  folded.addEventListener("toggle", () => folded.open && look());
  look();
  return look;
}
