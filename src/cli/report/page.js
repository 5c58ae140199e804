// SPDX-License-Identifier: Apache-2.0
// Summary, findings, filter, colours, printing.
const filter = byId("filter");
let check = null;  // a finding's check that is asked for

function tile(label, value, words, severity) {
  return make("div", {class: "tile", "data-severity": severity},
              make("span", {class: "label", text: label}), make("span", {class: "value"}, severity ? mark(severities.indexOf(severity)) : null, value),
              make("span", {class: "words", text: words}));
}

// Faults of the fabric's ports, and the number of ports of which they are not known.
function standing() {
  const {railPorts, failedRailPorts, unknownRailPorts} = data;
  const words = [];
  if (failedRailPorts) words.push(`${number(failedRailPorts)} down or missing`);
  if (unknownRailPorts) words.push(`state not known for ${number(unknownRailPorts)} of ${number(railPorts)}`);
  return words.join(", ");
}

function drawSummary() {
  const odd = nodes.filter((node) => node.odd).length;
  const ages = nodes.map((node) => node.age).filter((age) => age !== null);
  const stale = nodes.filter((node) => node.stale).length;
  const counts = severities.map((severity, i) => findings.filter((finding) => finding.severity === i).length);
  const policies = data.policies.length ? data.policies.join(", ") : "none (inference)";
  byId("about").textContent = `${data.time} · policy: ${policies} · nccl-env ${data.version}`;
  document.title = `Fabric report: ${counted(nodes.length, "node")}, ${odd} odd`;
  byId("summary").append(
    tile("Nodes", number(nodes.length), `${odd ? number(odd) : "none"} with findings, ${counted(pools.size, "pool")}`, null),
    tile("Fabric ports", number(data.railPorts), standing() || (data.railPorts ? "none down or missing" : "none known"), null),
    tile("Errors", number(counts[0]), counts[0] ? "jobs fail or lose a rail" : "none", counts[0] ? "error" : null),
    tile("Warnings", number(counts[1]), counts[1] ? "slower, or at risk" : "none", counts[1] ? "warning" : null),
    tile("To know", number(counts[2]), counts[2] ? "no fault by itself" : "nothing", counts[2] ? "info" : null),
    tile("Oldest table", ages.length ? ageText(Math.max(...ages)) : "-",
         stale ? `${number(stale)} older than ${ageText(data.maxTableAge)}` : ages.length ? "all fresh" : "imported by hand", stale ? "warning" : null));
}

function drawChecks() {
  const groups = new Map();
  for (const finding of findings) {
    const key = `${finding.severity} ${finding.check}`;
    groups.set(key, [...(groups.get(key) || []), finding]);
  }
  const chips = [...groups.values()].map((group) => {
    const {check: name, severity} = group[0];
    const chip = make("button", {type: "button", class: "chip", "aria-pressed": "false", title: data.checks[name][0]},
                      mark(severity), make("span", {text: name}), make("b", {text: number(group.length)}));
    chip.addEventListener("click", () => choose(chip, check && check.chip === chip ? null : {chip, name, severity, group}));
    return chip;
  });
  byId("checks").append(...(chips.length ? chips : [make("p", {class: "healthy", text: "✓ The doctor found nothing."})]));
}

// The nodes that have it, and in words what it is; what is about no node stands here alone.
function choose(chip, wanted) {
  check = wanted;
  for (const each of byId("checks").children) each.setAttribute("aria-pressed", String(wanted !== null && each === chip));
  const box = byId("check");
  box.hidden = wanted === null;
  box.replaceChildren();
  if (wanted) {
    const [meaning, remedy] = data.checks[wanted.name];
    box.append(make("p", {}, make("b", {text: meaning}), ` Do: ${remedy}`));
    const nowhere = wanted.group.filter((finding) => !finding.node);
    box.append(...nowhere.slice(0, 20).map((finding) => make("p", {class: "evidence", text: `${finding.pool || "-"}${finding.hca ? ` ${finding.hca}` : ""}: ${finding.evidence}`})));
    if (nowhere.length > 20) box.append(make("p", {text: `and ${number(nowhere.length - 20)} more`}));
  }
  applyFilter();
}

function matches(node, terms) {
  if (check && !node.findings.some((finding) => finding.check === check.name && finding.severity === check.severity)) return false;
  const words = terms.length ? wordsOf(node) : "";
  return terms.every((term) => words.includes(term));
}

function applyFilter() {
  // gid:3 is not gid:30: the words of numbers end in a blank.
  const terms = filter.value.toLowerCase().split(/\s+/).filter(Boolean).map((term) => (/^(gid|rate):[0-9.]+$/.test(term) ? `${term} ` : term));
  view.rows = terms.length || check ? nodes.filter((node) => matches(node, terms)) : nodes;
  view.row = 0;
  scroller.scrollTop = 0;
  byId("shown").textContent = view.rows.length === nodes.length ? counted(nodes.length, "node") : `${number(view.rows.length)} of ${counted(nodes.length, "node")}`;
  redraw();
}

function drawLegend() {
  const entries = legendOf(view.mode).map(({text, kind, words, count}) => make("span", {class: "entry"},
    make("span", {class: "cell", "data-kind": kind, text}), make("span", {text: count === null ? words : `${words}: ${number(count)}`})));
  const finding = make("span", {class: "entry"}, make("span", {class: "cell", "data-kind": "ok", "data-found": "error", text: ""}), make("span", {text: "finding"}));
  byId("legend").replaceChildren(...entries, ...(findings.length ? [finding] : []));
}

function chooseTheme(name) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
}

// A page from a file may be refused its storage.
function stored(name) {
  try {
    if (name !== undefined) localStorage.setItem("nccl-env-theme", name);
    return localStorage.getItem("nccl-env-theme");
  } catch (error) {
    return null;
  }
}

// Paper has no scrolling: findings in full, and as many nodes as somebody would leaf through.
const mostPrinted = 200;
function preparePrint() {
  const printed = view.rows.slice(0, mostPrinted);
  const rows = printed.map((node, i) => rowElement(node, i));
  body.replaceChildren(...rows);
  const left = view.rows.length - printed.length;
  byId("more").textContent = left > 0 ? `and ${counted(left, "node")} more, not printed` : "";
  byId("printed").replaceChildren(
    findings.length ? make("h2", {text: "Findings"}) : make("p", {text: "The doctor found nothing."}),
    ...findings.slice(0, 500).map((finding) => findingElement(finding, [finding.node || finding.pool, finding.hca].filter(Boolean).join(" "))));
}

function endPrint() {
  byId("printed").replaceChildren();
  byId("more").textContent = "";
  redraw();
}

filter.addEventListener("input", applyFilter);
filter.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "Enter") grid.focus();
  else if (event.key === "Escape" && filter.value) {
    filter.value = "";
    applyFilter();
  } else if (event.key === "Escape") grid.focus();
  else return;
  event.preventDefault();
  event.stopPropagation();
});
document.addEventListener("keydown", (event) => {
  const typing = /^(input|textarea)$/i.test(event.target.tagName) && event.target.type !== "radio";
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    filter.focus();
    filter.select();
  } else if (event.key === "Escape" && opened) {
    closeDetails();
  } else if (event.key === "Escape" && check) {
    choose(null, null);
  }
});
byId("mode").addEventListener("change", (event) => {
  view.mode = event.target.value;
  drawLegend();
  redraw();
});
byId("theme").addEventListener("change", (event) => {
  chooseTheme(event.target.value);
  stored(event.target.value);
});
window.addEventListener("beforeprint", preparePrint);
window.addEventListener("afterprint", endPrint);
window.addEventListener("hashchange", openAddressed);

const remembered = byId("theme").querySelector(`input[value="${["light", "dark"].includes(stored()) ? stored() : "auto"}"]`);
remembered.checked = true;
chooseTheme(remembered.value);
view.open = openDetails;
layOut();
drawSummary();
drawChecks();
drawLegend();
applyFilter();
openAddressed();
