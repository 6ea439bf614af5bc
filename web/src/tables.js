import { button, save, slug } from "./files.js";
import { rounded } from "./numbers.js";

const kManyRows = 8; // from here on a filter is worth its place

const words = new Intl.Collator("en", { numeric: true });

function compare(a, b) {
  const [x, y] = [a.dataset.value, b.dataset.value];
  if (x !== undefined && y !== undefined) return Number(x) - Number(y);
  return words.compare(a.textContent, b.textContent);
}

const isEmpty = (cell) => cell.dataset.value === undefined && cell.textContent === "-";

/** Rows with nothing in the column stay last, whatever the direction. */
function sortRows(body, column, direction) {
  const rows = [...body.rows];
  rows.sort((a, b) => {
    const [x, y] = [a.cells[column], b.cells[column]];
    if (isEmpty(x) || isEmpty(y)) return Number(isEmpty(x)) - Number(isEmpty(y));
    return direction * compare(x, y);
  });
  body.append(...rows);
}

/** Turns the headings into buttons: the first press sorts up, the next down. */
function makeSortable(table, say) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const press = document.createElement("button");
    press.type = "button";
    press.append(...heading.childNodes);
    heading.append(press);
    press.addEventListener("click", () => {
      const up = heading.getAttribute("aria-sort") !== "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      sortRows(table.tBodies[0], column, up ? 1 : -1);
      say(`Sorted by ${press.textContent}, ${up ? "ascending" : "descending"}`);
    });
  });
}

/** Every word must occur somewhere in a row that stays. */
function makeFilter(table, say) {
  const label = document.createElement("label");
  label.className = "filter";
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = "Filter rows";
  field.setAttribute("aria-label", "Filter rows");
  const count = document.createElement("span");
  count.className = "note";
  label.append(field, count);
  const rows = [...table.tBodies[0].rows];
  const said = new Map(rows.map((row) => [row, [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase()]));
  field.addEventListener("input", () => {
    const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      row.hidden = !wanted.every((word) => said.get(row).includes(word));
      if (!row.hidden) ++shown;
    }
    count.textContent = wanted.length ? `${shown} of ${rows.length}` : "";
    say(`${shown} of ${rows.length} rows`);
  });
  return label;
}

/** Columns behind the answer are shown when asked for. */
function makeColumnsButton(table, say) {
  const details = table.tHead.rows[0].querySelectorAll(".detail").length;
  table.classList.add("brief");
  const press = button("All columns", "", () => {
    const all = table.classList.toggle("brief") === false;
    press.setAttribute("aria-pressed", String(all));
    say(all ? `Showing ${details} more columns` : `Hiding ${details} columns`);
  });
  press.setAttribute("aria-pressed", "false");
  return press;
}

const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** RFC 4180, with every digit, of the rows that the filter leaves and of all columns. */
export function csvOf(table) {
  const cellOf = (cell) => quoted(cell.dataset.value ?? (cell.textContent === "-" ? "" : cell.textContent));
  const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden);
  const lines = [[...table.tHead.rows[0].cells].map((cell) => quoted(cell.textContent))];
  rows.forEach((row) => lines.push([...row.cells].map(cellOf)));
  return lines.map((line) => line.join(",") + "\r\n").join("");
}

/** Makes the rows of a table that comes as data. */
function makeRows(table, rows) {
  const classes = [...table.tHead.rows[0].cells].map((heading) => heading.className);
  const made = rows.map((values) => {
    const row = document.createElement("tr");
    values.forEach((value, i) => {
      const words = typeof value === "string";
      const cell = document.createElement(i === 0 && words ? "th" : "td");
      if (cell.tagName === "TH") cell.scope = "row";
      if (!words) cell.dataset.value = value;
      cell.className = classes[i];
      cell.textContent = words ? value : Number.isInteger(value) ? String(value) : rounded(value);
      row.append(cell);
    });
    return row;
  });
  table.tBodies[0].append(...made);
}

/** All tables of the page; those that come as data when they are unfolded, or printed. */
export function setUpTables(say) {
  const waiting = new Map();
  const fill = (details) => {
    waiting.get(details)?.();
    waiting.delete(details);
  };
  for (const region of document.querySelectorAll(".table")) {
    const data = region.parentElement.querySelector(":scope > script.rows");
    if (!data) {
      setUpTable(region, say);
      continue;
    }
    const details = region.closest("details");
    waiting.set(details, () => {
      makeRows(region.querySelector("table"), JSON.parse(data.textContent));
      setUpTable(region, say);
    });
    details.addEventListener("toggle", () => details.open && fill(details));
  }
  window.addEventListener("beforeprint", () => [...waiting.keys()].forEach(fill));
}

function setUpTable(region, say) {
  const table = region.querySelector("table");
  const title = document.getElementById(region.getAttribute("aria-labelledby"))?.textContent ?? "";
  const tools = document.createElement("div");
  tools.className = "tools";
  if (table.tBodies[0].rows.length > kManyRows) tools.append(makeFilter(table, say));
  if (table.querySelector("th.detail")) tools.append(makeColumnsButton(table, say));
  tools.append(
    button("CSV", "Download this table as CSV", () =>
      save(`${slug(title)}.csv`, new Blob([csvOf(table)], { type: "text/csv" })),
    ),
  );
  region.before(tools);
  makeSortable(table, say);
}
