// SPDX-License-Identifier: Apache-2.0
// Taking things along: copies for a ticket or a command, files of what is shown, the view in the page's address.
const filter = byId("filter");

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch (error) {  // not granted to pages of plain HTTP
    const area = make("textarea", {class: "hidden", readonly: true});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

function copyButton(label, words, text) {
  const button = make("button", {type: "button", class: "small", title: words, text: label, click: async () => {
    await copy(text());
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 1500);
  }});
  return button;
}

// One finding, or several of one code, as somebody would tell it.
function ticketOf(group) {
  const lines = byRemedy(group.findings).flatMap(({remedy, findings: some}) => [...bySentence(some).map(({sentence, places}) =>
    `  ${[...places].map(([place, hcas]) => `${place} ${hcasText(hcas)}`.trim()).filter(Boolean).join(", ")}: ${sentence}`), `Do: ${remedy}`]);
  const seen = [data.title, data.time].filter(Boolean).join(", ");
  return [`${group.code} (${severities[group.severity]}): ${group.findings[0].meaning}`, ...lines, `Seen: ${seen}`].join("\n");
}

function save(name, type, text) {
  const link = make("a", {download: name, href: URL.createObjectURL(new Blob([text], {type}))});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// A spreadsheet takes what begins with one of these for a formula.
const cellOf = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  return `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
};

// A line for each port; for a node without one, too.
const portColumns = {hca: "name", fabric: "fabric", state: "state", rate_gbps: "rate", mtu: "mtu", gid_index: "gidIndex",
                     netdevs: "netdevs", driver: "driver", board: "board", pci: "pci"};
function csvOf(shown) {
  const fields = Object.values(portColumns);
  const lines = [["node", "pool", "severity", "findings", "table_time", ...Object.keys(portColumns)]];
  for (const node of shown) {
    const begin = [node.name, node.pool.name, node.severity === null ? "" : severities[node.severity], findingsText(node), node.time];
    const ports = node.ports.length ? portsOf(node) : [{}];
    for (const port of ports) lines.push([...begin, ...fields.map((field) => port[field])]);
  }
  return lines.map((line) => `${line.map(cellOf).join(",")}\r\n`).join("");
}

function jsonOf(shown) {
  const told = shown.map((node) => ({
    node: node.name, pool: node.pool.name || null, severity: node.severity === null ? null : severities[node.severity],
    time: node.time, stale: node.stale, hcas: node.hcaList || null, reason: node.reason || null, gidIndex: node.gidIndex,
    findings: node.findings.map(({code, severity, parts, sentence}) => ({code, severity: severities[severity], parts: parts || null, sentence})),
    ports: portsOf(node).map(({rows, severity, ...port}) => ({...port, gids: rows && rows.map((row) => record("row", row))})),
    interfaces: node.interfaces && node.interfaces.map((each) => record("interface", each)),
  }));
  return `${JSON.stringify({title: data.title || null, time: data.time, version: data.version, nodes: told}, null, 1)}\n`;
}

const fileName = (ending) => `${[data.title.replace(/[^\w.-]+/g, "-") || "fabric", data.time.replace(/[^\dTZ]/g, "")].join("-")}.${ending}`;
const shares = [
  copyButton("Copy nodes", "Copies the names of the nodes shown, as for kubectl cordon", () => view.rows.map((node) => node.name).join(" ")),
  make("button", {type: "button", class: "small", title: "Saves the ports of the nodes shown", text: "CSV",
                  click: () => save(fileName("csv"), "text/csv", csvOf(view.rows))}),
  make("button", {type: "button", class: "small", title: "Saves the nodes shown, with all that is known of them", text: "JSON",
                  click: () => save(fileName("json"), "application/json", jsonOf(view.rows))}),
];
byId("share").append(...shares);

// report.html#q=stale&check=PortDown&mode=rate&node=gpu-1
function writeAddress(method) {
  const parts = new URLSearchParams();
  if (filter.value.trim()) parts.set("q", filter.value.trim());
  if (check) parts.set("check", check.key);
  if (view.mode !== "state") parts.set("mode", view.mode);
  if (opened) parts.set("node", opened.name);
  const fragment = parts.toString();
  if (fragment === location.hash.slice(1)) return;
  history[method](null, "", fragment ? `#${fragment}` : location.pathname + location.search);
}
