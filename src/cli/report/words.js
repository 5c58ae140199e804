// SPDX-License-Identifier: Apache-2.0
// Elements and words. Every text enters the page here, as text: names in tables are anybody's.
function make(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name === "click") element.addEventListener("click", value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

const byId = (id) => document.getElementById(id);
const number = (value) => value.toLocaleString("en");
const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

const ofAll = (some, all) => (some === all ? counted(all, "node") : `${number(some)} of ${counted(all, "node")}`);

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

// The middle of a long name goes: its end tells it from its like.
function shorten(name, most) {
  const letters = [...name];
  if (letters.length <= most) return name;
  const begin = Math.ceil((most - 1) / 2);
  return `${letters.slice(0, begin).join("")}…${letters.slice(letters.length - (most - 1 - begin)).join("")}`;
}

// mlx5_1-8, irdma0
function hcasText(names) {
  const runs = [];
  for (const name of new Set(names.filter(Boolean))) {
    const [, stem, digits] = /^(.*?)(\d*)$/s.exec(name);
    const last = runs[runs.length - 1];
    if (last && digits && last.stem === stem && Number(digits) === last.end + 1) last.end += 1;
    else runs.push({name, stem, begin: Number(digits), end: Number(digits)});
  }
  return runs.map((run) => (run.end > run.begin ? `${run.name}-${run.end}` : run.name)).join(", ");
}

function rateText(rate) {
  if (rate === null) return "?";
  return rate >= 1000 ? `${Math.round(rate / 100) / 10}k` : String(Math.round(rate * 10) / 10);
}

// 7 × 200 + 1 × 100
function ratesText(rates) {
  const counts = new Map();
  for (const rate of rates) counts.set(rate, (counts.get(rate) || 0) + 1);
  const fastestFirst = [...counts].sort((left, right) => right[0] - left[0]);
  return fastestFirst.map(([rate, count]) => `${count} × ${rateText(rate)}`).join(" + ");
}

// Findings of one code and severity as one: [{code, severity, key, findings}], in their order.
function byCode(list) {
  const groups = new Map();
  for (const finding of list) {
    const {code, severity} = finding, own = `${code}-${severities[severity]}`;
    const key = groups.has(code) && groups.get(code).severity !== severity ? own : code;
    if (!groups.has(key)) groups.set(key, {code, severity, key, findings: []});
    groups.get(key).findings.push(finding);
  }
  return [...groups.values()];
}

// Findings of one remedy as one: [{remedy, findings}], in their order.
function byRemedy(list) {
  const groups = new Map();
  for (const finding of list) {
    if (!groups.has(finding.remedy)) groups.set(finding.remedy, []);
    groups.get(finding.remedy).push(finding);
  }
  return [...groups].map(([remedy, some]) => ({remedy, findings: some}));
}

// Findings of one sentence as one: [{sentence, places: Map of "node" to its HCAs}].
function bySentence(list) {
  const groups = new Map();
  for (const finding of list) {
    if (!groups.has(finding.sentence)) groups.set(finding.sentence, {sentence: finding.sentence, places: new Map()});
    const {places} = groups.get(finding.sentence), {name, parts} = finding;
    places.set(name, [...(places.get(name) || []), parts]);
  }
  return [...groups.values()];
}

// "PortDown mlx5_1-8; RateLow mlx5_3", or each with what was seen. Info stands there if nothing else does.
function findingsText(node, withEvidence) {
  const worst = node.findings.filter((finding) => finding.severity < 2);
  return byCode(worst.length ? worst : node.findings).map((group) => {
    const what = `${group.code} ${hcasText(group.findings.map((finding) => finding.parts))}`.trim();
    return withEvidence ? `${what}: ${group.findings[0].sentence.replace(/[.]$/, "")}` : what;
  }).join("; ");
}

const stateCells = {
  Active: ["A", "ok"], Armed: ["Ar", "between"], Init: ["In", "between"], Down: ["D", "down"],
};
const gidCells = {  // by core's PortGid
  notRoCE: ["·", "none", "no GID index: not RoCE"], portDown: ["–", "none", "port down"],
  rowsUnknown: ["?", "unknown", "GID rows not known"], noUsableRow: ["×", "down", "no usable GID row"],
};
const levels = {s0: "usual of its rail", s1: "lower", s2: "under half", s3: "under a quarter", more: "higher"};

// By the most frequent of the same rail.
function level(value, usual) {
  if (value > usual) return "more";
  return value === usual ? "s0" : value >= usual / 2 ? "s1" : value >= usual / 4 ? "s2" : "s3";
}

// The indexes that are no pool's usual one, the most frequent first, have colours of their own.
let otherIndexes = null;
function indexKind(index, usual) {
  if (index === usual) return "c0";
  if (!otherIndexes) {
    const counts = new Map();
    eachRailPort((port, pool, rail) => {
      if (port && port.gidIndex !== null && port.gidIndex !== usualOf("gidIndex", pool, rail))
        counts.set(port.gidIndex, (counts.get(port.gidIndex) || 0) + 1);
    });
    otherIndexes = [...counts].sort((left, right) => right[1] - left[1] || left[0] - right[0]).map(([each]) => each);
  }
  return `c${Math.min(otherIndexes.indexOf(index) + 1, 6)}`;
}

function measured(port, value, text, unit, usual) {
  if (!isUp(port)) return ["–", "none", "port down"];
  if (value === null) return ["?", "unknown", "not known"];
  const kind = level(value, usual);
  return [text, kind, kind === "s0" ? `${value} ${unit}` : `${value} ${unit}, ${levels[kind]}: usual is ${usual}`];
}

// Content of a cell: [text, kind, words].
const shows = {
  state: (port) => {
    const [text, kind] = stateCells[port.state] || ["?", "unknown"];
    return [text, kind, port.state || "state not known"];
  },
  rate: (port, pool, rail) => measured(port, port.rate, rateText(port.rate), "Gb/s", usualOf("rate", pool, rail)),
  mtu: (port, pool, rail) => measured(port, port.mtu, String(port.mtu), "bytes of MTU", usualOf("mtu", pool, rail)),
  gid: (port, pool, rail) => {
    if (port.gidIndex === null) return gidCells[port.gid] || gidCells.rowsUnknown;
    return [String(port.gidIndex), indexKind(port.gidIndex, usualOf("gidIndex", pool, rail)), `GID index ${port.gidIndex}`];
  },
};

function cellElement(node, port, rail, mode) {
  const {name, fabric: wanted} = node.pool.rails[rail];
  if (!port && !wanted) return make("span", {class: "cell"});
  if (!port) {
    const label = `${name}: missing`;
    return make("span", {class: "cell", "data-kind": "missing", "aria-label": label, title: label, text: "–"});
  }
  const [text, kind, words] = shows[mode](port, node.pool, rail);
  const fabric = wanted || port.fabric;
  const found = port.severity === null ? null : severities[port.severity];
  const label = `${port.name}: ${words}${fabric ? "" : ", not fabric"}${found ? `, ${found}` : ""}`;
  return make("span", {class: "cell", "data-kind": fabric ? kind : "off", "data-found": found, "aria-label": label, title: label, text});
}

// The kinds of cells that the fabric shows, each once: [{text, kind, words, found, count}].
function legendOf(mode) {
  const entries = new Map(), found = new Set();
  const levelled = mode === "rate" || mode === "mtu";
  eachRailPort((port, pool, rail) => {
    const [text, kind, words] = port ? shows[mode](port, pool, rail) : ["–", "missing", "missing"];
    const key = levelled ? kind : `${kind} ${text}`;
    if (!entries.has(key)) {
      entries.set(key, {kind, count: 0, values: new Set(), text: levels[kind] && levelled ? "" : text,
                        words: levelled && levels[kind] ? levels[kind] : /^c\d$/.test(kind) ? "index" : words});
    }
    const entry = entries.get(key);
    entry.count += 1;
    if (levelled && levels[kind] && entry.values.size < 4) entry.values.add(text);
    if (port && port.severity !== null && port.severity < 2) found.add(port.severity);
  });
  const list = [...entries.values()].sort((left, right) => right.count - left.count).slice(0, 12);
  for (const entry of list) {
    if (entry.values.size) entry.words += ` (${[...entry.values].join(", ")})`;
  }
  const frames = [...found].sort().map((severity) =>
    ({text: "", kind: "ok", found: severities[severity], words: `has ${severity ? "a warning" : "an error"}`}));
  const off = data.pools.some((pool) => record("pool", pool).rails.some((rail) => !record("rail", rail).fabric));
  return [...list, ...frames, ...(off ? [{text: "", kind: "off", words: "not fabric"}] : [])];
}
