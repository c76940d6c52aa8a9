"use strict";
// Sort a table by the heading that is chosen: numbers by value, largest first; text by its letters.
function sortable(table) {
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

// Show only the rows that hold what is looked for, and only the tables that have such rows.
function find(text, tables) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const { fold, rows } of tables) {
    const named = words.every(word => fold.id.includes(word));
    let shown = 0;
    for (const row of rows) {
      const all = named || words.every(word => row.textContent.toLowerCase().includes(word));
      row.hidden = !all;
      shown += all;
    }
    fold.hidden = !shown;
    found += shown;
  }
  return found;
}

function searchable(section) {
  const tables = [...section.querySelectorAll(":scope > details")].map(fold =>
    ({ fold, rows: [...fold.querySelector("table.sortable").tBodies[0].rows] }));
  if (!tables.length) return;
  const box = document.createElement("div");
  box.className = "find";
  box.innerHTML = "<label for=find>Find a name</label><input id=find type=search autocomplete=off>" +
    "<span class=aside role=status></span>";
  section.querySelector("h2").after(box);
  const [input, status] = [box.querySelector("input"), box.querySelector("span")];
  let waiting = 0;
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const rows = find(input.value, tables);
      const open = tables.filter(table => !table.fold.hidden).length;
      const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
      status.textContent = input.value.trim() ? `${count(rows, "row")} in ${count(open, "table")}` : "";
    }, 150);
  });
}

// A link to a table opens it.
function unfold() {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
    target.querySelector("summary").focus({ preventScroll: true });
  }
}

document.querySelectorAll("table.sortable").forEach(sortable);
searchable(document.getElementById("all-tables"));
addEventListener("hashchange", unfold);
unfold();
