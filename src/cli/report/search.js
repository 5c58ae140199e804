// SPDX-License-Identifier: Apache-2.0
// The filter: words that a node's texts have to hold. Texts are looked through once each, not once a node.
const searched = {
  node: ["$name", "$pool", "$reason", "$interface"],
  port: ["$name", "$state", "$link", "$transport", "$driver", "$board", "$pci", "$netdevs", "$guid", "$lag"],
  row: ["$gid", "$address", "$netdev"],
  interface: ["$name", "$master", "$addresses"],
};
const whatIsSearched = "The filter looks at names of nodes, pools, HCAs and interfaces, at addresses, GIDs, boards, drivers, PCI addresses, "
  + "states and findings; gid:3, rate:100 and mtu:4096 ask for a port's number, stale for an old table.";

// Per node the places of its texts in data.strings; made while nothing else is to do, at the latest at the first letter.
let lowered = null, textsOf = null;
function index() {
  if (textsOf) return;
  lowered = data.strings.map((text) => text.toLowerCase());
  const places = Object.fromEntries(Object.entries(searched).map(([kind, fields]) => [kind, fields.map((field) => data.fields[kind].indexOf(field))]));
  const portRows = data.fields.port.indexOf("rows");
  textsOf = new Map(nodes.map((node, i) => {
    const texts = [];
    const take = (kind, list) => {
      for (const place of places[kind]) {
        if (list[place] !== null) texts.push(list[place]);
      }
    };
    take("node", data.nodes[i]);
    for (const port of node.ports) {
      take("port", port);
      for (const row of port[portRows] || []) take("row", row);
    }
    for (const each of node.interfaces || []) take("interface", each);
    return [node, texts];
  }));
}

const addressForm = /^(\d{1,3}(?:\.\d{1,3}){3})(?:<\d+>|\/\d+)?$/;
// A GID as tables hold it: NCCL's log writes ::ffff:10.1.0.42.
function allGroups(term) {
  if (!/^[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*$/.test(term)) return term;
  try {
    const [begin, end] = new URL(`ws://[${term}]`).hostname.slice(1, -1).split("::").map((part) => part.split(":").filter(Boolean));
    const zeros = end ? new Array(8 - begin.length - end.length).fill("0") : [];
    return [...begin, ...zeros, ...(end || [])].map((group) => group.padStart(4, "0")).join(":");
  } catch (error) {
    return term;  // not yet an address
  }
}

// A test of a node for one word.
function matcher(term) {
  const asked = /^(gid|rate|mtu):([\d.]*)$/.exec(term);
  if (asked) {
    const place = data.fields.port.indexOf({gid: "gidIndex", rate: "rate", mtu: "mtu"}[asked[1]]);
    return (node) => !asked[2] || node.ports.some((port) => port[place] !== null && port[place] === Number(asked[2]));
  }
  const address = addressForm.exec(term);
  // 10.1.0.4 is not 10.1.0.42.
  const whole = address && new RegExp(`(^|[^\\d.])${address[1].replaceAll(".", "\\.")}(?!\\d|\\.\\d)`);
  const wanted = address ? address[1] : term, full = allGroups(term);
  const hits = new Uint8Array(lowered.length);
  for (let i = 0; i < lowered.length; ++i) {
    const text = lowered[i];
    if (text.includes(wanted) ? !whole || whole.test(text) : full !== term && text === full) hits[i] = 1;
  }
  const holds = (texts) => {
    for (const place of texts) {
      if (hits[place]) return true;
    }
    return false;
  };
  return (node) => holds(textsOf.get(node)) || (term === "stale" && node.stale) ||
    node.findings.some(({code, severity, parts}) => `${code} ${severities[severity]} ${parts}`.toLowerCase().includes(term));
}

function search(text) {
  const terms = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!terms.length) return nodes;
  index();
  const tests = terms.map(matcher);
  return nodes.filter((node) => tests.every((test) => test(node)));
}
setTimeout(() => (window.requestIdleCallback || setTimeout)(index), 500);
