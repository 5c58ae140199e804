// SPDX-License-Identifier: Apache-2.0
// The grid: a section for each pool, odd nodes before the others. Only the rows in view are elements, so that thousands
// of nodes scroll as hundreds do.
const rowHeight = 30, rowWithFindings = 50, rowOfTwoLines = 40, headHeight = 60;  // pixels, as in the style
const spare = 6 * rowHeight;  // above and below what is seen
const grid = byId("grid"), head = byId("head"), body = byId("body"), scroller = byId("scroller");
// Where the column of findings is not in view, they stand below the name; where it is wide, with what was seen, in two lines.
const narrow = matchMedia("(max-width: 600px)"), wide = matchMedia("(min-width: 1200px)");
const heightIn = ({odd}) => (odd && narrow.matches ? rowWithFindings : odd && wide.matches ? rowOfTwoLines : rowHeight);

const view = {rows: nodes, sections: [], mode: "state", row: 0, column: 0, open: () => {}};
// Column 0 is mark and name; then the HCAs of the node's pool; the rest follows.
const firstHca = 1;
const afterHcas = [
  {name: "Findings", title: "What the doctor found", width: 220, text: (node) => findingsText(node, wide.matches)},
  ...(anyOthers ? [{name: "More", title: "Ports in no column", width: 52, text: (node) => (countOthers(node) ? `+${countOthers(node)}` : "")}] : []),
  {name: "GID", title: "GID index that pods get", width: 44, text: (node) => String(node.gidIndex ?? (node.gidSearched ? "auto" : "-"))},
  {name: "Gb/s", title: "Rates of the fabric's ports", width: 130, text: (node) => (node.rates.length ? ratesText(node.rates) : "?")},
  {name: "Age", title: "Age of the node's table", width: 66, text: (node) => `${ageText(node.age)}${node.stale ? " stale" : ""}`},
];
const columnsOf = (node) => firstHca + node.pool.rails.length + afterHcas.length;

// The beginning of all HCAs of a pool, digits not cut: mlx5_ of mlx5_1 and mlx5_10.
function stemOf(names) {
  if (names.length < 2) return "";
  let end = 0;
  while (end < names[0].length && names.every((name) => name[end] === names[0][end])) ++end;
  return names[0].slice(0, end).replace(/\d+$/, "");
}

const letter = 7.9;  // pixels, of the style's 13px, monospaced
function longestName() {
  return nodes.reduce((most, node) => Math.max(most, node.name.length), 13);
}
let mostLetters = 22, nameWidth = 0;

function layOut() {
  mostLetters = narrow.matches ? 13 : 22;
  nameWidth = Math.min(longestName(), mostLetters) * letter + 38;
  for (const pool of [...pools.values(), noPool]) {
    const names = pool.rails.map((rail, i) => (pool.byName ? rail.name : String(i + 1)));
    pool.stem = pool.byName ? stemOf(names) : names.length ? "rail" : "";
    pool.heads = pool.byName ? names.map((name) => name.slice(pool.stem.length)) : names;
    const longest = pool.heads.reduce((most, name) => Math.max(most, name.length), 0);
    const hca = Math.min(Math.max(longest * letter + 10, 42), 104);
    pool.tracks = [nameWidth, ...pool.rails.map(() => hca), 10, ...afterHcas.map((each) => each.width)];
    pool.width = pool.tracks.reduce((sum, width) => sum + width, 14);
    pool.columns = pool.tracks.map((width, i) => (i === names.length + 2 ? `minmax(${width}px, 1fr)` : `${width}px`)).join(" ");
  }
  grid.style.minWidth = `${Math.max(...[...pools.values(), noPool].filter((pool) => pool.nodes).map((pool) => pool.width))}px`;
  grid.style.setProperty("--name", `${nameWidth}px`);
}

// Rows in sections: odd nodes by pool, then the others by pool.
function arrange(shown) {
  const sections = new Map();
  for (const node of shown) {
    const key = `${node.odd} ${node.pool.place}`;
    if (!sections.has(key)) sections.set(key, {pool: node.pool, odd: node.odd, nodes: []});
    sections.get(key).nodes.push(node);
  }
  view.sections = [...sections.values()].sort((left, right) => right.odd - left.odd || left.pool.place - right.pool.place);
  view.rows = view.sections.flatMap((section) => section.nodes);
  let start = 0, top = 0;
  view.sections.forEach((section, place) => {
    Object.assign(section, {place, start, top, bottom: top + headHeight + section.nodes.length * heightIn(section)});
    start += section.nodes.length;
    top = section.bottom;
  });
}

const sectionOf = (row) => view.sections.find((section) => row < section.start + section.nodes.length);
const topOf = (section, row) => section.top + headHeight + (row - section.start) * heightIn(section);

function headElement(section) {
  const {pool, odd} = section;
  const about = `${ofAll(section.nodes.length, pool.nodes)}${odd ? " with an error or a warning" : ""} · ${pool.shape}`;
  const names = make("div", {role: "row", class: "row"},
    make("span", {role: "columnheader", class: "name"}, make("span", {text: "Node"}), make("span", {class: "stem", text: pool.stem})),
    ...pool.rails.map((rail, i) => make("span", {role: "columnheader", class: "hca", title: rail.name, text: pool.heads[i]})),
    make("span", {role: "presentation"}),
    ...afterHcas.map((each) => make("span", {role: "columnheader", class: "text", title: each.title, text: each.name})));
  names.style.gridTemplateColumns = pool.columns;
  return make("div", {role: "presentation", class: "section"},
    make("div", {role: "row", class: "about"}, make("span", {role: "rowheader"}, make("b", {text: pool.name ? `${pool.name}: ` : ""}), about)), names);
}

function rowElement(node, row, section) {
  const element = make("div", {
    role: "row", class: "row", id: `r${row}`, "data-row": row, "aria-rowindex": row + 2 * section.place + 3,
    "data-severity": node.odd ? severities[node.severity] : null,
  });
  let column = 0;
  const add = (cell) => {
    cell.setAttribute("role", "gridcell");
    cell.setAttribute("aria-colindex", String(column + 1));
    cell.id = `r${row}c${column++}`;
    element.append(cell);
  };
  add(make("span", {class: "name", title: node.name}, node.odd ? mark(node.severity) : null, make("span", {text: shorten(node.name, mostLetters)})));
  railPorts(node).forEach((port, rail) => add(cellElement(node, port, rail, view.mode)));
  element.append(make("span", {role: "presentation"}));
  for (const each of afterHcas) {
    const text = each.text(node);
    add(make("span", {class: "text", text, title: text.length > 16 && text}));
  }
  if (section.odd && wide.matches) element.classList.add("tall");
  if (section.odd && narrow.matches) {
    element.classList.add("two");
    element.append(make("span", {class: "below", "aria-hidden": "true", text: findingsText(node, false)}));
  }
  element.style.gridTemplateColumns = node.pool.columns;
  element.style.top = `${topOf(section, row)}px`;
  return element;
}

let drawnHead = null;
function draw() {
  const top = Math.max(0, scroller.scrollTop), end = top + scroller.clientHeight + spare;
  const wanted = [];
  let current = view.sections[0];
  for (const section of view.sections) {
    if (section.top > end) break;
    if (section.top <= top) current = section;
    if (section.bottom < top - spare) continue;
    const there = byId(`h${section.place}`) || headElement(section);
    there.id = `h${section.place}`;
    there.style.top = `${section.top}px`;
    wanted.push(there);
    const height = heightIn(section), from = Math.floor((top - spare - section.top - headHeight) / height);
    const to = Math.ceil((end - section.top - headHeight) / height);
    for (let i = Math.max(0, from); i < Math.min(section.nodes.length, to); ++i)
      wanted.push(byId(`r${section.start + i}`) || rowElement(section.nodes[i], section.start + i, section));
  }
  if (current !== drawnHead) {
    drawnHead = current;
    head.replaceChildren(...(current ? [headElement(current)] : []));
  }
  if (wanted.length === body.childElementCount && wanted[0] === body.firstChild && wanted[wanted.length - 1] === body.lastChild) return;
  body.replaceChildren(...wanted);
  showActive();
}

function redraw() {
  const last = view.sections[view.sections.length - 1];
  body.replaceChildren();
  drawnHead = null;
  body.style.height = `${last ? last.bottom : 0}px`;
  grid.setAttribute("aria-rowcount", String(view.rows.length + 2 * view.sections.length));
  grid.setAttribute("aria-colcount", String(view.rows.reduce((most, node) => Math.max(most, columnsOf(node)), 0)));
  grid.hidden = view.rows.length === 0;
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
  view.column = Math.min(Math.max(column, 0), columnsOf(view.rows[view.row]) - 1);
  const section = sectionOf(view.row), top = topOf(section, view.row);
  if (top < scroller.scrollTop + headHeight) scroller.scrollTop = top - headHeight;
  else if (top > scroller.scrollTop + scroller.clientHeight - heightIn(section)) scroller.scrollTop = top + heightIn(section) - scroller.clientHeight;
  draw();
  showActive();
  const cell = byId(`r${view.row}c${view.column}`);
  if (cell && view.column > 0) cell.scrollIntoView({block: "nearest", inline: "nearest"});
}

// The port of the active cell, if it is one's.
const portAt = (node, column) => railPorts(node)[column - firstHca] || null;

const aPage = () => Math.floor(scroller.clientHeight / rowHeight) - 3;
const moves = {
  ArrowDown: () => [view.row + 1, view.column],
  ArrowUp: () => [view.row - 1, view.column],
  ArrowRight: () => [view.row, view.column + 1],
  ArrowLeft: () => [view.row, view.column - 1],
  PageDown: () => [view.row + aPage(), view.column],
  PageUp: () => [view.row - aPage(), view.column],
  Home: (event) => (event.ctrlKey ? [0, 0] : [view.row, 0]),
  End: (event) => (event.ctrlKey ? [view.rows.length - 1, Infinity] : [view.row, Infinity]),
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
  const row = event.target.closest("[data-row]");
  if (!row) return;
  const cell = event.target.closest("[aria-colindex]");
  view.row = Number(row.dataset.row);
  view.column = cell ? Number(cell.getAttribute("aria-colindex")) - 1 : 0;
  showActive();
  view.open(view.rows[view.row], portAt(view.rows[view.row], view.column));
});

scroller.addEventListener("scroll", draw, {passive: true});
new ResizeObserver(draw).observe(scroller);
for (const width of [narrow, wide]) {
  width.addEventListener("change", () => {
    layOut();
    arrange(view.rows);
    redraw();
  });
}
