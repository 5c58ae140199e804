// SPDX-License-Identifier: Apache-2.0
// One node: what the doctor found, what pods get, its ports, GID rows and interfaces.
const details = byId("details");
let opened = null;

const known = (value) => (value === null || value === undefined || value === "" ? "-" : String(value));

function tableOf(caption, headings, rows) {
  const cells = (row, tag) => row.map((cell) => {
    const content = typeof cell === "object" && cell !== null ? cell : document.createTextNode(known(cell));
    return make(tag, tag === "th" ? {scope: "col"} : {}, content);
  });
  const lines = rows.map((row) => make("tr", {"data-severity": row.severity, class: row.chosen ? "chosen" : null}, ...cells(row.cells, "td")));
  return make("div", {class: "wide"},
              make("table", {}, make("caption", {text: caption}), make("thead", {}, make("tr", {}, ...cells(headings, "th"))),
                   make("tbody", {}, ...lines)));
}

// Findings of one code; `named`: with the nodes, which a click opens.
const mostPlaces = 40;
function placeElement(place, hcas) {
  const node = nodesByName.get(place);
  const name = node ? make("button", {type: "button", class: "link", title: place, text: shorten(place, 44), click: () => openDetails(node, null)})
                    : make("span", {text: place});
  return make("span", {class: "place"}, name, make("span", {class: "where", text: hcas}));
}

function sentenceElements(some, named) {
  const sentences = bySentence(some);
  const lines = sentences.slice(0, mostPlaces).map(({sentence, places}) => {
    const shown = [...places].slice(0, mostPlaces).map(([place, hcas]) => placeElement(place, hcasText(hcas)));
    const hcas = hcasText([...places.values()].flat());
    const left = places.size - shown.length;
    return make("p", {class: "evidence"}, ...(named ? shown : hcas ? [make("span", {class: "where", text: hcas})] : []),
                left > 0 && named ? make("span", {text: ` and ${counted(left, "more node")}`}) : null,
                make("span", {class: "seen", text: sentence}));
  });
  const left = sentences.length - lines.length;
  return [...lines, ...(left > 0 ? [make("p", {text: `and ${number(left)} more`})] : [])];
}

function groupElement(group, named) {
  const count = group.findings.length;
  return make("article", {class: "finding", "data-severity": severities[group.severity]},
              mark(group.severity),
              make("div", {},
                   make("h4", {}, make("span", {text: group.code + (count > 1 ? ` × ${number(count)}` : "")}),
                        copyButton("Copy", "Copies it as text, as for a ticket", () => ticketOf(group))),
                   make("p", {class: "meaning", text: group.findings[0].meaning}),
                   ...byRemedy(group.findings).flatMap(({remedy, findings: some}) =>
                     [...sentenceElements(some, named), make("p", {class: "remedy"}, make("b", {text: "Do: "}), remedy)])));
}

function factsOf(node) {
  const facts = [];
  const add = (term, ...text) => facts.push(make("dt", {text: term}), make("dd", {}, ...text));
  if (node.hcaList) add("NCCL_IB_HCA", make("code", {text: node.hcaList}));
  else if (node.reason) add("No fabric", make("b", {text: node.reason}), ` ${node.reasonWords}`);
  add("GID index", node.gidIndex !== null ? String(node.gidIndex) : node.gidSearched ? "none: NCCL finds it" : "none for all of its fabric ports");
  if (node.pool.name) add("Pool", `${node.pool.name}: ${node.pool.shape}, ${counted(node.pool.nodes, "node")}`);
  add("Table", node.time ? `observed ${node.time}, ${ageText(node.age)} before the report${node.stale ? " (stale)" : ""}` : "imported by hand");
  add("Node interface", known(node.interface));
  if (node.namespaceMode) add("RDMA namespaces", node.namespaceMode);
  if (node.agent) add("Agent", node.agent);
  return make("dl", {}, ...facts);
}

function portsTable(node, chosen) {
  const rows = portsOf(node).map((port) => ({
    severity: port.severity === null ? null : severities[port.severity],
    chosen: port === chosen,
    cells: [
      make("span", {class: "port"}, port.severity === null ? null : mark(port.severity), make("b", {text: port.name})),
      make("span", {class: "badge", "data-kind": (stateCells[port.state] || ["", "unknown"])[1], text: port.state || "not known"}),
      rateText(port.rate), port.mtu, port.gidIndex === null ? (gidCells[port.gid] || ["-"])[0] : port.gidIndex,
      port.netdevs, make("span", {class: "why", text: port.fabric ? "yes" : `no: ${port.why || "not known"}`}),
    ],
  }));
  return tableOf("Ports", ["HCA", "State", "Gb/s", "MTU", "GID", "Netdev", "Fabric"], rows);
}

function moreOf(port) {
  const facts = [
    [port.state || "state not known", port.since && `since ${port.since}`], ["", port.link], ["", port.transport], ["", port.driver],
    ["", port.board], ["PCI", port.pci], ["NUMA node", port.numa === -1 ? null : port.numa], ["LAG", port.lag], ["VF of", port.pf],
    ["system image", port.guid], ["GID table of", port.tableLength], ["", port.more],
  ];
  return facts.filter(([, value]) => value !== null && value !== "").map(([term, value]) => `${term} ${value}`.trim()).join(", ");
}

function rowsElement(port, open) {
  const parts = [make("summary", {}, make("b", {text: port.name}), ` ${port.rows === null ? "rows not known" : counted(port.rows.length, "row")}`)];
  const more = moreOf(port);
  if (more) parts.push(make("p", {class: "meaning", text: more}));
  if (port.rows && port.rows.length) {
    const rows = port.rows.map((list) => record("row", list)).map((row) => ({
      chosen: row.usable && row.index === port.gidIndex,
      cells: [row.index, make("code", {text: row.gid}), row.type, row.address, row.netdev,
              row.usable ? "✓ usable" : row.usable === null ? `? ${row.why}` : `✗ ${row.why}`],
    }));
    parts.push(tableOf(`GID rows of ${port.name}`, ["Index", "GID", "Type", "Address", "Netdev", "Usable"], rows));
  }
  return make("details", {open}, ...parts);
}

function interfacesTable(node) {
  const rows = node.interfaces.map((list) => record("interface", list)).map((each) => ({
    cells: [make("b", {text: each.name}), each.up === null ? "?" : each.up ? "up" : "down", each.mtu, each.master, each.addresses],
  }));
  return tableOf("Interfaces", ["Name", "Link", "MTU", "Master", "Addresses"], rows);
}

// The unknown is not good: nothing was found in the rest.
function nothingFound(unknown) {
  if (unknown) return make("p", {text: `Nothing found in what is known: ${unknown}.`});
  return make("p", {class: "healthy", text: "✓ The doctor found nothing."});
}

const unknownText = (unknown, all) => (unknown ? `state not known for ${number(unknown)} of ${counted(all, "port")}` : "");

function unknownOf(node) {
  const ports = railPorts(node).filter((port, i) => port && node.pool.rails[i].fabric);
  return unknownText(ports.filter((port) => port.state === null).length, ports.length);
}

const overlay = matchMedia("(max-width: 760px)");  // as in the style: it covers the page
function guardFocus() {
  for (const element of document.body.children) element.inert = element !== details && opened !== null && overlay.matches;
  details.setAttribute("aria-modal", String(overlay.matches));
}

function openDetails(node, port) {
  const method = opened ? "replaceState" : "pushState";
  showDetails(node, port);
  writeAddress(method);  // the way back closes it
}

function showDetails(node, port) {
  opened = node;
  const place = view.rows.indexOf(node);
  const step = (by, words, text) => {
    const next = place < 0 ? undefined : view.rows[place + by];
    return make("button", {type: "button", "aria-label": words, title: words, text, disabled: !next, click: () => {
      moveTo(place + by, view.column);
      openDetails(next, null);
    }});
  };
  const ports = portsOf(node), groups = byCode(node.findings);
  details.replaceChildren(
    make("header", {}, mark(node.odd ? node.severity : null), make("h2", {id: "details-title", text: node.name}),
         step(-1, "Previous node", "↑"), step(1, "Next node", "↓"),
         make("button", {type: "button", "aria-label": "Close (Esc)", title: "Close (Esc)", text: "×", click: closeDetails})),
    make("div", {class: "content"},
         ...(groups.length ? groups.map((group) => groupElement(group, false)) : [nothingFound(unknownOf(node))]),
         factsOf(node),
         ports.length ? portsTable(node, port) : make("p", {text: "Its table holds no port."}),
         ports.length ? make("h3", {text: "Hardware and GID rows"}) : null,
         ...ports.map((each) => rowsElement(each, each === port || (port === null && each.severity !== null))),
         node.interfaces && node.interfaces.length ? interfacesTable(node) : null));
  details.hidden = false;
  details.scrollTop = 0;
  document.body.classList.add("with-details");
  guardFocus();
  details.focus();
}

function hideDetails() {
  if (!opened) return;
  opened = null;
  details.hidden = true;
  details.replaceChildren();
  document.body.classList.remove("with-details");
  guardFocus();
  grid.focus();
}

function closeDetails() {
  hideDetails();
  writeAddress("replaceState");
}
overlay.addEventListener("change", guardFocus);
