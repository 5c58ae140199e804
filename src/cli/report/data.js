// SPDX-License-Identifier: Apache-2.0
// The page's data (src/core/doctor/report.cc writes it): lists become objects where they are looked at.
const data = JSON.parse(document.getElementById("data").textContent);
const severities = ["error", "warning", "info"];

function record(kind, list) {
  const made = {};
  data.fields[kind].forEach((field, i) => {
    const value = list[i];
    if (field[0] !== "$") made[field] = value;
    else made[field.slice(1)] = value === null ? null : data.strings[value];
  });
  return made;
}

const findings = data.findings.map((list) => record("finding", list));
const nodes = data.nodes.map((list) => record("node", list));
const pools = new Map(data.pools.map((list) => {
  const pool = record("pool", list);
  pool.rails = pool.rails.map((rail) => record("rail", rail));
  return [pool.name, pool];
}));
for (const node of nodes) {
  node.findings = node.findings.map((place) => findings[place]);
  node.odd = node.severity !== null && node.severity < 2;
}

const noRails = [];
const railsOf = (node) => (pools.has(node.pool) ? pools.get(node.pool).rails : noRails);

function portsOf(node) {
  if (!node.read) node.read = node.ports.map((list) => record("port", list));
  return node.read;
}

// By column of the grid: the rail and the node's port there (null: it has none), or nothing.
function cellsOf(node) {
  const cells = new Array(data.columns.length).fill(null);
  railsOf(node).forEach((rail, i) => {
    const place = node.rails[i];
    cells[rail.column] = {rail, port: place < 0 ? null : portsOf(node)[place]};
  });
  return cells;
}

// Ports in no column: soft devices, virtual functions, more than the pool has.
function othersOf(node) {
  const inGrid = new Set(node.rails);
  return portsOf(node).filter((port, place) => !inGrid.has(place));
}
const anyOthers = nodes.some((node) => node.ports.length > node.rails.filter((place) => place >= 0).length);

// Counts how often each value of a field occurs among the fabric's ports.
function tally(field) {
  const place = data.fields.port.indexOf(field);
  const counts = new Map();
  for (const node of nodes) {
    railsOf(node).forEach((rail, i) => {
      if (!rail.fabric) return;
      const list = node.rails[i] < 0 ? null : node.ports[node.rails[i]];
      const known = list && list[place] !== null;
      const value = !list ? "missing" : !known ? null : field[0] === "$" ? data.strings[list[place]] : list[place];
      counts.set(value, (counts.get(value) || 0) + 1);
    });
  }
  return counts;
}

const fieldOfPort = (list, field) => list[data.fields.port.indexOf(field)];
const textOfPort = (list, field) => data.strings[fieldOfPort(list, field)];

// Text that the filter searches, in lower case. Ports as lists: all nodes are asked at the first letter.
function wordsOf(node) {
  if (node.words) return node.words;
  const words = new Set([node.name, node.pool, node.reason || "", node.stale ? "stale" : ""]);
  for (const finding of node.findings) words.add(finding.check).add(severities[finding.severity]).add(finding.hca);
  for (const port of node.ports) {
    const state = textOfPort(port, "$state"), index = fieldOfPort(port, "gidIndex"), rate = fieldOfPort(port, "rate");
    if (state && state !== "Active") words.add(state);
    if (index !== null) words.add(`gid:${index} `);
    if (rate !== null) words.add(`rate:${rate} `);
    words.add(textOfPort(port, "$name"));
  }
  node.words = [...words].join("\n").toLowerCase();
  return node.words;
}
