// SPDX-License-Identifier: Apache-2.0
// Elements and words. Every text enters the page here, as text: names in tables are anybody's.
function make(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") element.textContent = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

const byId = (id) => document.getElementById(id);
const number = (value) => value.toLocaleString("en");
const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

// A shape and a word for each severity, never the colour alone.
function mark(severity) {
  if (severity === null) return make("span", {class: "mark"});
  const name = severities[severity];
  return make("span", {class: `mark ${name}`, role: "img", "aria-label": name, title: name},
              make("span", {text: name === "info" ? "i" : "!", "aria-hidden": "true"}));
}

function ageText(seconds) {
  if (seconds === null) return "-";
  const age = Math.max(0, seconds);
  if (age < 120) return `${age}s`;
  if (age < 7200) return `${Math.floor(age / 60)}m`;
  if (age < 172800) return `${Math.floor(age / 3600)}h`;
  return `${Math.floor(age / 86400)}d`;
}

function rateText(rate) {
  if (rate === null) return "?";
  return rate >= 1000 ? `${Math.round(rate / 100) / 10}k` : String(Math.round(rate * 10) / 10);
}

// 7×200+1×100
function ratesText(rates) {
  const counts = new Map();
  for (const rate of rates) counts.set(rate, (counts.get(rate) || 0) + 1);
  const fastestFirst = [...counts].sort((left, right) => right[0] - left[0]);
  return fastestFirst.map(([rate, count]) => `${count}×${rateText(rate)}`).join("+") || (rates ? "-" : "?");
}

function findingsText(node) {
  const texts = node.findings.filter((finding) => finding.severity < 2)
                    .map((finding) => finding.check + (finding.hca ? ` ${finding.hca}` : ""));
  return [...new Set(texts)].join("; ");
}

const stateCells = {
  Active: ["A", "ok"], Armed: ["Ar", "between"], Init: ["In", "between"], Down: ["D", "down"],
};
const gidCells = {  // by core's PortGid
  notRoCE: ["·", "none", "no GID index: not RoCE"], portDown: ["–", "none", "no GID index: port down"],
  rowsUnknown: ["?", "unknown", "GID rows not known"], noUsableRow: ["×", "down", "no usable GID row"],
};
const isUp = (port) => port.state === null || port.state === "Active";

// Fastest first: the page's steps from light to dark.
const rates = [...tally("rate").keys()].filter((rate) => typeof rate === "number").sort((l, r) => r - l);
const rateKind = (rate) => {
  const rank = rates.indexOf(rate);
  return rank < 0 ? "none" : `s${rates.length <= 6 ? rank : Math.floor((rank * 6) / rates.length)}`;
};
// The most frequent index first.
const indexes = [...tally("gidIndex")].filter(([index]) => typeof index === "number").sort((l, r) => r[1] - l[1] || l[0] - r[0]).map(([index]) => index);
const gidKind = (index) => {
  const rank = indexes.indexOf(index);
  return rank < 0 ? "none" : `c${Math.min(rank, 6)}`;
};

// Content of a cell: [text, kind, words].
const shows = {
  state: (port) => {
    const [text, kind] = stateCells[port.state] || ["?", "unknown"];
    return [text, kind, port.state || "state not known"];
  },
  rate: (port) => {
    if (!isUp(port)) return ["–", "none", `no rate: ${port.state}`];
    return [rateText(port.rate), port.rate === null ? "unknown" : rateKind(port.rate),
            port.rate === null ? "rate not known" : `${port.rate} Gb/s`];
  },
  gid: (port) => {
    if (port.gidIndex === null) return gidCells[port.gid];
    return [String(port.gidIndex), gidKind(port.gidIndex), `GID index ${port.gidIndex}`];
  },
};

function cellElement(node, cell, mode) {
  if (!cell || (!cell.port && !cell.rail.fabric)) return make("span", {class: "cell"});
  if (!cell.port) {
    const label = `${cell.rail.name}: missing`;
    return make("span", {class: "cell", "data-kind": "missing", "aria-label": label, title: label, text: "–"});
  }
  const {port, rail} = cell;
  const [text, kind, words] = shows[mode](port);
  const fabric = rail.fabric || port.fabric;
  const found = port.severity === null ? "" : `, ${severities[port.severity]}`;
  const label = `${port.name}: ${words}${fabric ? "" : ", not fabric"}${found}`;
  return make("span", {
    class: "cell", "data-kind": fabric ? kind : "off", "data-found": port.severity === null ? null : severities[port.severity],
    "aria-label": label, title: label, text,
  });
}

function legendOf(mode) {
  const entries = [];
  const add = (text, kind, words, count) => entries.push({text, kind, words, count});
  if (mode === "state") {
    const counts = tally("$state");
    for (const [state, [text, kind]] of Object.entries(stateCells)) {
      if (counts.has(state)) add(text, kind, state, counts.get(state));
    }
    if (counts.has(null)) add("?", "unknown", "not known", counts.get(null));
    if (counts.has("missing")) add("–", "missing", "missing", counts.get("missing"));
  } else if (mode === "rate") {
    const counts = tally("rate");
    for (const rate of rates.slice(0, 8)) add(rateText(rate), rateKind(rate), "Gb/s", counts.get(rate));
    if (rates.length > 8) add("…", "none", `${rates.length - 8} more`, null);
    if (counts.has(null)) add("?", "unknown", "not known", counts.get(null));
    if (tally("$state").has("Down")) add("–", "none", "port down", null);
  } else {
    const counts = tally("gidIndex");
    const words = tally("$gid");
    for (const index of indexes.slice(0, 8)) add(String(index), gidKind(index), "index", counts.get(index));
    if (indexes.length > 8) add("…", "none", `${indexes.length - 8} more`, null);
    for (const [word, [text, kind, meaning]] of Object.entries(gidCells)) {
      if (words.has(word)) add(text, kind, meaning, words.get(word));
    }
  }
  if (data.pools.some((list) => record("pool", list).rails.some((rail) => !record("rail", rail).fabric)))
    add("", "off", "not fabric", null);
  return entries;
}
