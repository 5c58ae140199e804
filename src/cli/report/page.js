// SPDX-License-Identifier: Apache-2.0
// Summary, findings, filter, colours, printing.
let check = null;  // findings of one check that are asked for

function tile(label, value, words, severity) {
  return make("div", {class: "tile", "data-severity": severity},
              make("span", {class: "label", text: label}), make("span", {class: "value"}, severity ? mark(severities.indexOf(severity)) : null, value),
              make("span", {class: "words", text: words}));
}

const unknownPorts = () => unknownText(fabricPorts.unknown, fabricPorts.all);

// Faults of the fabric's ports, and the number of ports of which they are not known.
function standing() {
  const failed = fabricPorts.failed ? `${number(fabricPorts.failed)} down or missing` : "";
  return [failed, unknownPorts()].filter(Boolean).join(", ");
}

// 20 Nov 2026, 08:00 UTC (2h ago)
function momentText(text) {
  const at = new Date(text), seconds = Math.floor((Date.now() - at) / 1000);
  if (Number.isNaN(at.getTime())) return text;
  const parts = {timeZone: "UTC", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit"};
  return `${at.toLocaleString("en-GB", parts)} UTC${seconds > 0 ? ` (${ageText(seconds)} ago)` : ""}`;
}

// One sentence to hand on: how many nodes need work, a few of them by name, and what that work is about.
function verdict() {
  if (!nodes.length) return ["There are no nodes in this report."];
  const odd = nodes.filter((node) => node.odd).length, share = Math.round((1000 * odd) / nodes.length) / 10;
  const parts = ["with errors, where jobs fail or lose a rail", "with warnings, slower or at risk"].flatMap((words, severity) => {
    const some = nodes.filter((node) => node.severity === severity);
    const codes = byCode(some.flatMap((node) => node.findings.filter((finding) => finding.severity === severity)));
    if (!some.length) return [];
    // A few are named: whom to call is the next question.
    const named = some.length <= 3 ? `: ${some.map((node) => shorten(node.name, 48)).join(", ")}` : "";
    return ["; ", `${number(some.length)} ${words}${named}`, make("span", {class: "codes", text: ` (${codes.map((group) => group.code).join(", ")})`})];
  });
  if (odd) {
    const [worst] = byCode(findings), [{remedy}] = byRemedy(worst.findings);
    return [`${ofAll(odd, nodes.length)} (${share || "under 0.1"} %) need work: `, ...parts.slice(1), ".",
            make("span", {class: "first"}, make("b", {text: `First, ${worst.code}: `}), remedy)];
  }
  const unknown = unknownPorts();
  const rest = unknown ? `, but ${unknown}` : "";
  if (!findings.length) return [make("span", {class: "healthy", text: unknown ? "" : "✓ "}), `No node needs work: nothing was found on ${counted(nodes.length, "node")}${rest}.`];
  const also = byCode(findings).map((group) => `${number(group.findings.length)} ${severities[group.severity]} (${group.code})`);
  return [`No error or warning on ${counted(nodes.length, "node")}; ${also.join(", ")}${rest}.`];
}

function drawSummary() {
  const odd = nodes.filter((node) => node.odd).length;
  // By the worst finding of each, as the sentence counts them; what no node has is not named.
  const worst = ["jobs fail or lose a rail", "slower, or at risk", "a plan, or a question"].flatMap((words, severity) => {
    const some = nodes.filter((node) => node.severity === severity).length;
    const label = `With ${["errors", "warnings", "notes alone"][severity]}`;
    return some ? [tile(label, number(some), words, severities[severity])] : [];
  });
  const ages = nodes.map((node) => node.age).filter((age) => age !== null);
  const oldest = ages.length ? ageText(ages.reduce((most, age) => Math.max(most, age))) : "-";
  const stale = nodes.filter((node) => node.stale).length;
  const policies = data.policies.length ? data.policies.join(", ") : "none, ports inferred";
  if (data.title) byId("title").textContent = data.title;
  byId("about").textContent = [`${data.title ? "Fabric report, " : ""}${momentText(data.time)}`,
    ages.length ? `tables at most ${oldest} old` : "tables imported by hand", `policy: ${policies}`, `nccl-env ${data.version}`].join(" · ");
  document.title = `${data.title || "Fabric report"}: ${counted(nodes.length, "node")}, ${odd} odd`;
  byId("verdict").append(...verdict());
  byId("summary").append(
    tile("Nodes", number(nodes.length), `in ${counted(pools.size, "pool")} of equal hardware`, null), ...worst,
    tile("Fabric ports", number(fabricPorts.all), standing() || (fabricPorts.all ? "none down or missing" : "none known"), null),
    tile("Oldest table", oldest, stale ? `${number(stale)} older than ${ageText(data.maxTableAge)}` : ages.length ? "all fresh" : "imported by hand",
         stale ? "warning" : null));
  if (nodes.length && !pools.size) tell("No node has RDMA devices: is the driver loaded there, and does the agent see /sys?");
}

function tell(text) {
  byId("notice").textContent = text;
  byId("notice").hidden = !text;
}

function drawChecks() {
  const chips = byCode(findings).map((group) => {
    const places = new Set(group.findings.map(nodeOf).filter(Boolean)).size;
    group.chip = make("button", {type: "button", class: "chip", "aria-pressed": "false", title: group.findings[0].meaning, click: () => {
                        choose(check === group ? null : group);
                        writeAddress("replaceState");
                      }},
                      mark(group.severity), make("span", {text: group.code}),
                      make("b", {text: places ? counted(places, "node") : number(group.findings.length)}));
    return group;
  });
  byId("checks").append(...chips.map((group) => group.chip));
  return chips;
}

// The nodes that have it, with what was seen of them.
function choose(wanted) {
  check = wanted;
  for (const group of checks) group.chip.setAttribute("aria-pressed", String(group === wanted));
  byId("check").hidden = wanted === null;
  byId("check").replaceChildren(...(wanted ? [groupElement(wanted, true)] : []));
  applyFilter();
}

function applyFilter() {
  const having = check && new Set(check.findings.map(nodeOf));
  const found = search(filter.value);
  arrange(having ? found.filter((node) => having.has(node.name)) : found);
  view.row = 0;
  scroller.scrollTop = 0;
  byId("shown").textContent = ofAll(view.rows.length, nodes.length);
  byId("none").textContent = check && !filter.value ? "This is about no single node." : `No node matches. ${whatIsSearched}`;
  redraw();
}

function chooseMode(mode) {
  view.mode = mode;
  byId("mode").querySelector(`input[value="${mode}"]`).checked = true;
  drawLegend();
  redraw();
}

function drawLegend() {
  byId("legend").replaceChildren(...legendOf(view.mode).map(({text, kind, words, found, count}) => make("span", {class: "entry"},
    make("span", {class: "cell", "data-kind": kind, "data-found": found, text}),
    make("span", {text: count === undefined ? words : `${words}: ${number(count)}`}))));
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
  const parts = [];
  for (const section of view.sections) {
    if (section.start >= mostPrinted) break;
    parts.push(headElement(section), ...section.nodes.slice(0, mostPrinted - section.start).map((node, i) => rowElement(node, section.start + i, section)));
  }
  body.replaceChildren(...parts);
  const left = view.rows.length - mostPrinted;
  byId("more").textContent = left > 0 ? `and ${counted(left, "node")} more, not printed` : "";
  if (findings.length) byId("printed").replaceChildren(make("h2", {text: "Findings"}), ...checks.map((group) => groupElement(group, true)));
}

function endPrint() {
  byId("printed").replaceChildren();
  byId("more").textContent = "";
  redraw();
}

function applyAddress() {
  const parts = new URLSearchParams(location.hash.slice(1)), name = parts.get("node");
  filter.value = parts.get("q") || "";
  chooseMode(Object.keys(shows).includes(parts.get("mode")) ? parts.get("mode") : "state");
  choose(checks.find((group) => group.key === parts.get("check")) || null);
  const node = nodesByName.get(name);
  if (name) tell(node ? "" : `This report has no node ${name}.`);
  if (!node) return hideDetails();
  const row = view.rows.indexOf(node);
  if (row >= 0) moveTo(row, 0);
  showDetails(node, null);
}

let typed = 0;
filter.addEventListener("input", () => {
  applyFilter();
  clearTimeout(typed);  // browsers refuse an address for each letter
  typed = setTimeout(() => writeAddress("replaceState"), 300);
});
filter.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "Enter") grid.focus();
  else if (event.key === "Escape" && filter.value) {
    filter.value = "";
    applyFilter();
    writeAddress("replaceState");
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
    choose(null);
    writeAddress("replaceState");
  }
});
byId("mode").addEventListener("change", (event) => {
  chooseMode(event.target.value);
  writeAddress("replaceState");
});
byId("theme").addEventListener("change", (event) => {
  chooseTheme(event.target.value);
  stored(event.target.value);
});
window.addEventListener("beforeprint", preparePrint);
window.addEventListener("afterprint", endPrint);
window.addEventListener("hashchange", applyAddress);

const remembered = byId("theme").querySelector(`input[value="${["light", "dark"].includes(stored()) ? stored() : "auto"}"]`);
remembered.checked = true;
chooseTheme(remembered.value);
byId("plain").remove();
view.open = openDetails;
layOut();
drawSummary();
const checks = drawChecks();
applyAddress();
