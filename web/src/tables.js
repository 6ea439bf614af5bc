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
export function makeSortable(table, say) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const up = heading.getAttribute("aria-sort") !== "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      sortRows(table.tBodies[0], column, up ? 1 : -1);
      say(`Sorted by ${button.textContent}, ${up ? "ascending" : "descending"}`);
    });
  });
}
