import { element } from "./elements.js";
import { read } from "./server.js";

/** Who is in which partition of a GPU now. */
export function setUpPartitions() {
  const form = document.getElementById("partitions");
  const said = document.getElementById("partitions-said");
  const place = document.getElementById("tenants");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    place.hidden = true;
    try {
      const result = await read(`partitions?gpu=${encodeURIComponent(form.elements.gpu.value)}`);
      said.textContent = result.rows.length ? "" : "Nobody.";
      if (!result.rows.length) return;
      const title = ({ name, unit }) => (unit ? `${name} (${unit})` : name);
      const head = element("tr", {}, ...result.columns.map((column) => element("th", { scope: "col" }, title(column))));
      const rows = result.rows.map((row) =>
        element("tr", {}, ...result.columns.map(({ name }) => element("td", { class: "words" }, String(row[name] ?? "")))));
      place.replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
      place.hidden = false;
    } catch (error) {
      said.textContent = error.message;
    }
  });
}
