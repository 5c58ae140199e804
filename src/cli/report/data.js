// SPDX-License-Identifier: Apache-2.0
// The page's data (src/judge/doctor/report.cc writes it): lists become objects where they are looked at.
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
const nodeOf = (finding) => (finding.kind === "Node" ? finding.name : "");  // "" where it is about none
const nodes = data.nodes.map((list) => record("node", list));
const pools = new Map(data.pools.map((list, place) => {
  const pool = {...record("pool", list), place};
  pool.rails = pool.rails.map((rail) => record("rail", rail));
  return [pool.name, pool];
}));
// The nodes without RDMA hardware.
const noPool = {name: "", shape: "no RDMA hardware", nodes: nodes.filter((node) => !pools.has(node.pool)).length, rails: [], place: pools.size};
for (const node of nodes) {
  node.findings = node.findings.map((place) => findings[place]);
  node.odd = node.severity !== null && node.severity < 2;
  node.pool = pools.get(node.pool) || noPool;
}

const nodesByName = new Map(nodes.map((node) => [node.name, node]));

function portsOf(node) {
  if (!node.read) node.read = node.ports.map((list) => record("port", list));
  return node.read;
}

// The port at each rail of the node's pool; null: it has none.
const railPorts = (node) => node.rails.map((place) => (place < 0 ? null : portsOf(node)[place]));

// Ports at no rail: soft devices, virtual functions, more than the pool has.
const countOthers = (node) => node.ports.length - node.rails.filter((place) => place >= 0).length;
const anyOthers = nodes.some((node) => countOthers(node) > 0);

// The fields of a port that a cell shows, for all ports at once: not the whole record.
const glanceFields = ["$state", "rate", "mtu", "gidIndex", "$gid", "severity"].map((field) => [field, data.fields.port.indexOf(field)]);
function glance(list) {
  const made = {};
  for (const [field, place] of glanceFields) {
    if (field[0] === "$") made[field.slice(1)] = list[place] === null ? null : data.strings[list[place]];
    else made[field] = list[place];
  }
  return made;
}

// Calls visit(port or null, pool, rail) for each place of the fabric.
function eachRailPort(visit) {
  for (const node of nodes) {
    node.pool.rails.forEach((rail, i) => {
      if (rail.fabric) visit(node.rails[i] < 0 ? null : glance(node.ports[node.rails[i]]), node.pool, i);
    });
  }
}

const isUp = (port) => port.state === null || port.state === "Active";

// Ports that the fabric should have: all, those that are missing or not up, those of which this is not known.
const fabricPorts = {all: 0, failed: 0, unknown: 0};
eachRailPort((port) => {
  fabricPorts.all += 1;
  if (!port || !isUp(port)) fabricPorts.failed += 1;
  else if (port.state === null) fabricPorts.unknown += 1;
});

// The most frequent value of each rail, which others are judged by; of an index that of the pool.
const usuals = new Map();
function usualOf(field, pool, rail) {
  const key = (of, place) => `${of.place}.${field === "gidIndex" ? 0 : place}`;
  if (!usuals.has(field)) {
    const counts = new Map();
    for (const node of nodes) {
      node.rails.forEach((at, i) => {
        const port = at < 0 ? null : glance(node.ports[at]);
        if (!port || port[field] === null || !isUp(port) || (field === "gidIndex" && !node.pool.rails[i].fabric)) return;
        const values = counts.get(key(node.pool, i)) || new Map();
        counts.set(key(node.pool, i), values.set(port[field], (values.get(port[field]) || 0) + 1));
      });
    }
    const most = (values) => [...values].sort((left, right) => right[1] - left[1] || right[0] - left[0])[0][0];
    usuals.set(field, new Map([...counts].map(([place, values]) => [place, most(values)])));
  }
  return usuals.get(field).get(key(pool, rail));
}
