// SPDX-License-Identifier: Apache-2.0
// The grid: only the rows in view are elements, so that thousands of nodes scroll as hundreds do.
const rowHeight = 30;  // pixels, as in the style
const spareRows = 6;   // above and below what is seen
const grid = byId("grid"), head = byId("head"), body = byId("body"), scroller = byId("scroller");

const manyPools = pools.size > 1;
const view = {rows: nodes, mode: "state", row: 0, column: 1, open: () => {}};
// Column 0 is the mark, 1 the name; then the HCAs; the rest follows.
const firstHca = 2;
const afterHcas = [
  ...(anyOthers ? [{name: "More", title: "Ports in no column", width: "48px", text: (node) => othersText(node)}] : []),
  {name: "GID", title: "GID index that pods get", width: "44px",
   text: (node) => (node.gidIndex === null ? "-" : String(node.gidIndex))},
  {name: "Gb/s", title: "Rates of the fabric's ports", width: "112px",
   text: (node) => (node.rates.length ? ratesText(node.rates) : "-")},
  {name: "Age", title: "Age of the node's table", width: "52px", text: (node) => ageText(node.age)},
  ...(manyPools ? [{name: "Pool", title: "Nodes of one shape", width: "72px", text: (node) => node.pool || "-"}] : []),
  {name: "Findings", title: "What the doctor found", width: "minmax(150px, 1fr)",
   text: (node) => findingsText(node) || (node.reason && !node.odd ? node.reason : "")},
];
const columnCount = firstHca + data.columns.length + afterHcas.length;

function othersText(node) {
  const others = node.ports.length - node.rails.filter((place) => place >= 0).length;
  return others ? `+${others}` : "";
}

function layOut() {
  const longest = nodes.reduce((most, node) => Math.max(most, node.name.length), 8);
  const name = `${Math.min(Math.max(longest, 10), 30) * 7.7 + 16}px`;  // of the style's 12.5px, monospaced
  const hcas = data.columns.length ? `repeat(${data.columns.length}, 34px) 10px ` : "10px ";
  grid.style.setProperty("--tracks", `28px ${name} ${hcas}${afterHcas.map((each) => each.width).join(" ")}`);
  const longestHca = data.columns.reduce((most, column) => Math.max(most, column.length), 0);
  grid.classList.toggle("upright", longestHca <= 3);
  grid.style.setProperty("--head", `${longestHca <= 3 ? 32 : Math.min(longestHca * 7.2 + 14, 130)}px`);
  const cells = [
    make("span", {role: "columnheader", class: "corner"}, make("span", {class: "hidden", text: "Severity"})),
    make("span", {role: "columnheader", class: "name", text: "Node"}),
    ...data.columns.map((column) => make("span", {role: "columnheader", class: "hca", title: column}, make("span", {text: column}))),
    make("span", {role: "presentation"}),
    ...afterHcas.map((each) => make("span", {role: "columnheader", title: each.title, text: each.name})),
  ];
  head.append(make("div", {role: "row", class: "row", "aria-rowindex": "1"}, ...cells));
  grid.setAttribute("aria-colcount", String(columnCount));
}

function rowElement(node, index) {
  const row = make("div", {
    role: "row", class: "row", id: `r${index}`, "data-row": index, "aria-rowindex": index + 2,
    "data-severity": node.odd ? severities[node.severity] : null,
  });
  const add = (cell, column) => {
    cell.setAttribute("role", "gridcell");
    cell.setAttribute("aria-colindex", String(column + 1));
    cell.id = `r${index}c${column}`;
    row.append(cell);
  };
  add(make("span", {class: "text"}, node.odd ? mark(node.severity) : null), 0);
  add(make("span", {class: "name", text: node.name, title: node.name}), 1);
  cellsOf(node).forEach((cell, i) => add(cellElement(node, cell, view.mode), firstHca + i));
  row.append(make("span", {role: "presentation"}));
  afterHcas.forEach((each, i) => {
    const text = each.text(node);
    const stale = each.name === "Age" && node.stale;
    add(make("span", {class: "text", text: stale ? `${text} !` : text, title: stale ? `${text}: stale` : text}),
        firstHca + data.columns.length + i);
  });
  row.style.top = `${index * rowHeight}px`;
  return row;
}

let drawn = {first: 0, end: 0};
function draw() {
  const top = Math.max(0, scroller.scrollTop);
  const first = Math.max(0, Math.floor(top / rowHeight) - spareRows);
  const end = Math.min(view.rows.length, Math.ceil((top + scroller.clientHeight) / rowHeight) + spareRows);
  if (first === drawn.first && end === drawn.end) return;
  const rows = [];
  for (let i = first; i < end; ++i) {
    const there = i >= drawn.first && i < drawn.end ? byId(`r${i}`) : null;
    rows.push(there || rowElement(view.rows[i], i));
  }
  body.replaceChildren(...rows);
  drawn = {first, end};
  showActive();
}

function redraw() {
  body.replaceChildren();
  drawn = {first: 0, end: 0};
  body.style.height = `${view.rows.length * rowHeight}px`;
  grid.setAttribute("aria-rowcount", String(view.rows.length + 1));
  byId("none").hidden = view.rows.length > 0;
  view.row = Math.min(view.row, Math.max(0, view.rows.length - 1));
  draw();
  showActive();
}

function showActive() {
  for (const old of body.querySelectorAll(".active, .active-row")) old.classList.remove("active", "active-row");
  const cell = byId(`r${view.row}c${view.column}`);
  if (!cell) return grid.removeAttribute("aria-activedescendant");
  cell.classList.add("active");
  cell.parentElement.classList.add("active-row");
  grid.setAttribute("aria-activedescendant", cell.id);
}

function moveTo(row, column) {
  if (!view.rows.length) return;
  view.row = Math.min(Math.max(row, 0), view.rows.length - 1);
  view.column = Math.min(Math.max(column, 0), columnCount - 1);
  const top = view.row * rowHeight, room = scroller.clientHeight - head.offsetHeight - rowHeight;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (top > scroller.scrollTop + room) scroller.scrollTop = top - room;
  draw();
  showActive();
  const cell = byId(`r${view.row}c${view.column}`);
  if (cell) cell.scrollIntoView({block: "nearest", inline: "nearest"});
}

// The port of the active cell, if it is one's.
function portAt(node, column) {
  const cell = cellsOf(node)[column - firstHca];
  return cell && cell.port ? cell.port : null;
}

const moves = {
  ArrowDown: () => [view.row + 1, view.column],
  ArrowUp: () => [view.row - 1, view.column],
  ArrowRight: () => [view.row, view.column + 1],
  ArrowLeft: () => [view.row, view.column - 1],
  PageDown: () => [view.row + Math.floor(scroller.clientHeight / rowHeight) - 2, view.column],
  PageUp: () => [view.row - Math.floor(scroller.clientHeight / rowHeight) + 2, view.column],
  Home: (event) => (event.ctrlKey ? [0, 0] : [view.row, 0]),
  End: (event) => (event.ctrlKey ? [view.rows.length - 1, columnCount - 1] : [view.row, columnCount - 1]),
};

grid.addEventListener("keydown", (event) => {
  if (event.altKey || event.metaKey) return;
  const node = view.rows[view.row];
  if (event.key === "Enter" && node) view.open(node, portAt(node, view.column));
  else if (moves[event.key]) moveTo(...moves[event.key](event));
  else return;
  event.preventDefault();
});

body.addEventListener("click", (event) => {
  const row = event.target.closest(".row");
  if (!row) return;
  const cell = event.target.closest("[aria-colindex]");
  view.row = Number(row.dataset.row);
  view.column = cell ? Number(cell.getAttribute("aria-colindex")) - 1 : 1;
  showActive();
  view.open(view.rows[view.row], portAt(view.rows[view.row], view.column));
});

scroller.addEventListener("scroll", draw, {passive: true});
new ResizeObserver(draw).observe(scroller);
