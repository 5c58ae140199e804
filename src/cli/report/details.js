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

function findingElement(finding, where) {
  const [meaning, remedy] = data.checks[finding.check];
  return make("article", {class: "finding", "data-severity": severities[finding.severity]},
              mark(finding.severity),
              make("div", {},
                   make("h4", {}, make("span", {text: finding.check}), where ? make("span", {class: "where", text: where}) : null),
                   make("p", {class: "evidence", text: finding.evidence}),
                   make("p", {class: "meaning", text: meaning}),
                   make("p", {class: "remedy"}, make("b", {text: "Do: "}), remedy)));
}

function factsOf(node) {
  const facts = [];
  const add = (term, ...text) => facts.push(make("dt", {text: term}), make("dd", {}, ...text));
  if (node.hcaList) add("NCCL_IB_HCA", make("code", {text: node.hcaList}));
  else if (node.reason) add("No fabric", make("b", {text: node.reason}), ` ${(data.reasons[node.reason] || []).join(" ")}`);
  add("GID index", node.gidIndex === null ? "none for all of its fabric ports" : String(node.gidIndex));
  if (pools.has(node.pool)) add("Pool", `${node.pool}: ${pools.get(node.pool).shape}, ${counted(pools.get(node.pool).nodes, "node")}`);
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
    ["system image", port.guid], ["GID table of", port.tableLength],
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

function openDetails(node, port) {
  opened = node;
  const place = view.rows.indexOf(node);
  const step = (by, words, text) => {
    const button = make("button", {type: "button", "aria-label": words, title: words, text});
    button.disabled = place < 0 || !view.rows[place + by];
    button.addEventListener("click", () => {
      moveTo(place + by, view.column);
      openDetails(view.rows[place + by], null);
    });
    return button;
  };
  const close = make("button", {type: "button", class: "close", "aria-label": "Close (Esc)", title: "Close (Esc)", text: "×"});
  close.addEventListener("click", closeDetails);
  const found = node.findings.map((finding) => findingElement(finding, finding.hca));
  const ports = portsOf(node);
  details.replaceChildren(
    make("header", {}, mark(node.odd ? node.severity : null), make("h2", {id: "details-title", text: node.name}),
         step(-1, "Previous node", "↑"), step(1, "Next node", "↓"), close),
    make("div", {class: "content"},
         ...(found.length ? found : [make("p", {class: "healthy", text: "✓ The doctor found nothing on this node."})]),
         factsOf(node),
         ports.length ? portsTable(node, port) : make("p", {text: "Its table holds no port."}),
         ports.length ? make("h3", {text: "Hardware and GID rows"}) : null,
         ...ports.map((each) => rowsElement(each, each === port || (port === null && each.severity !== null))),
         node.interfaces && node.interfaces.length ? interfacesTable(node) : null));
  details.hidden = false;
  details.scrollTop = 0;
  document.body.classList.add("with-details");
  details.focus();
  address(node);
}

function closeDetails() {
  if (!opened) return;
  opened = null;
  details.hidden = true;
  details.replaceChildren();
  document.body.classList.remove("with-details");
  address(null);
  grid.focus();
}

// A link to the page may name a node: report.html#node=gpu-1
function address(node) {
  history.replaceState(null, "", node ? `#node=${encodeURIComponent(node.name)}` : location.pathname + location.search);
}

function openAddressed() {
  const wanted = /^#node=(.*)$/.exec(location.hash);
  if (!wanted) return;
  let name = "";
  try {
    name = decodeURIComponent(wanted[1]);
  } catch (error) {
    return;  // not a name that this page wrote
  }
  const node = nodes.find((each) => each.name === name);
  if (!node) return;
  const place = view.rows.indexOf(node);
  if (place >= 0) moveTo(place, 1);
  openDetails(node, null);
}
