"use strict";
// Sort a table by the heading that is chosen: numbers by value, largest first; text by its letters.
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  headings.forEach((heading, column) => heading.addEventListener("click", () => {
    const key = row => {
      const cell = row.cells[column];
      return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
    };
    const numeric = [...body.rows].some(row => row.cells[column].dataset.v !== undefined);
    const before = heading.getAttribute("aria-sort");
    const down = before === null ? numeric : before === "ascending";
    headings.forEach(other => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b
      : typeof a === typeof b ? a.localeCompare(b) : typeof a === "number" ? 1 : -1;
    const rows = [...body.rows].map(row => [key(row), row]);
    rows.sort((a, b) => down ? compare(b[0], a[0]) : compare(a[0], b[0]));
    body.append(...rows.map(pair => pair[1]));
  }));
}
