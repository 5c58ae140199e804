#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `nccl-env report` in headless Chromium: what it shows, how it is used, what it must not do.

  check.py PROGRAM FOLDER     PROGRAM is nccl-env; pages and screenshots are left in FOLDER"""
import csv
import io
import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import time

import fleet
from browser import Browser, Broken
from times import tell_times

HERE = pathlib.Path(__file__).resolve().parent
# Rows in view and some spare ones, by 24 cells; the rest is one panel. 2,000 nodes as elements are 40,000.
MOST_ELEMENTS = 1500
READABLE = 4.5  # WCAG 2.1, 1.4.3: text beside its ground
DATA = re.compile(r'(<script id="data" type="application/json">)(.*?)(</script>)', re.S)
HOSTILE = "</script><img src=x onerror=alert(1)>&lt;\u2028'\""


def expect(what, seen, wanted=True):
    if seen != wanted:
        raise Broken(f"{what}: {seen!r} instead of {wanted!r}")


class Report:
    """One page of a fleet, made by the program."""

    def __init__(self, program, folder, name, nodes):
        source = f"dir:{fleet.write(folder / name, nodes)}"
        self.file = folder / f"{name}.html"
        begin = time.monotonic()
        run([program, "report", "--store", source, "--at", fleet.NOW, "--title", name, "-o", self.file])
        self.seconds = time.monotonic() - begin
        found = subprocess.run([program, "doctor", "--store", source, "--at", fleet.NOW, "-o", "json"],
                               capture_output=True, text=True)
        self.findings = json.loads(found.stdout)["findings"]


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise Broken(f"{command}: {done.stderr}")


def names(page):
    return page.run("[...document.querySelectorAll('#body [data-row] .name')].map(name => name.title)")


def text(page, selector):
    return page.run(f"document.querySelector({json.dumps(selector)}).innerText")


def active(page):
    """What a screen reader is told to be at."""
    return page.run("""(() => { const id = document.getElementById("grid").getAttribute("aria-activedescendant");
                       const cell = document.getElementById(id), row = cell && cell.parentElement;
                       return row && [row.querySelector(".name").title, Number(cell.getAttribute("aria-colindex"))]; })()""")


def is_open(page):
    return page.run("!document.getElementById('details').hidden")


def tiles(page):
    """Nodes by their worst finding."""
    shown = page.run("[...document.querySelectorAll('.tile')].map(tile => [...tile.children].map(part => part.innerText))")
    return {label.split()[1]: int(value.split()[-1]) for label, value, _ in shown if label.startswith("With ")}


def choose(page, group, value):
    page.click(f"#{group} input[value={value}]")


def check_bounds(page, where):
    for width in (1280, 800, 390):
        page.resize(width, 900)
        expect(f"{where}: pixels too wide at {width}", page.run("document.documentElement.scrollWidth - innerWidth"), 0)
    page.resize(1280, 900)
    elements = page.run("document.querySelectorAll('*').length")
    expect(f"{where}: {elements} elements are few", elements < MOST_ELEMENTS)


def check_contrast(page, where):
    """Every text that is shown, and a cell of each kind, in both themes."""
    measure = (HERE / "contrast.js").read_text()
    for theme in ("light", "dark"):
        page.prefer(theme)
        poor = [found for found in page.run(measure) if found["ratio"] < READABLE]
        expect(f"{where}, {theme}: text that is hard to read", poor, [])
    page.prefer("light")


def check_quiet(page, file):
    expect("what the page logs or throws", page.problems, [])
    expect("what the page loads", set(page.requests), {f"file://{file}"})


def check_healthy(browser, report, folder):
    page = browser.show(report.file)
    expect("first node", names(page)[0], "gpu-0")
    expect("natural order", names(page)[9:12], ["gpu-9", "gpu-10", "gpu-11"])
    expect("summary", "200" in text(page, "#summary") and "1,600" in text(page, "#summary"))
    expect("the sentence", text(page, "#verdict"), "✓ No node needs work: nothing was found on 200 nodes.")
    expect("said once", [text(page, "#checks"), tiles(page)], ["", {}])
    expect("the cluster", text(page, "#title"), "healthy")
    about = r"Fabric report, 20 Nov 2026, 08:00 UTC( \(\w+ ago\))? · tables at most 59m old · policy: .* · nccl-env \S+"
    expect("time and version", re.fullmatch(about, text(page, "#about")) is not None)
    check_bounds(page, "healthy")
    check_contrast(page, "healthy")
    page.screenshot(folder / "healthy-light.png")
    page.prefer("dark")
    page.screenshot(folder / "healthy-dark.png")
    check_quiet(page, report.file)
    page.close()


def check_ports(browser, program, folder):
    """The fabric's ports are counted: a port that is down, one that is missing, and a node whose states are not known."""
    nodes = fleet.fleet(3)
    fleet.down(nodes[0], 3)
    nodes[1]["observed"]["ports"].pop(5)
    for port in nodes[2]["observed"]["ports"]:
        del port["state"]
    page = browser.show(Report(program, folder, "ports", nodes).file)
    expect("the fabric's ports", "2 down or missing, state not known for 8 of 24 ports" in text(page, "#summary"))
    page.close()


def check_order(page, report, odd):
    first = names(page)[:13]
    expect("odd nodes first", sorted(first[:12]), sorted(odd))
    expect("the first healthy one", first[12], "gpu-0")
    rank = {}
    for finding in report.findings:
        rank.setdefault(finding["subject"]["name"], finding["severity"])
    expect("errors before warnings", [rank[name] for name in first[:12]], sorted(rank[name] for name in first[:12]))
    expect("each row names its check", [odd[name] in row for name, row in zip(first, page.run(
        "[...document.querySelectorAll('#body [data-row]')].slice(0, 12).map(row => row.textContent)"))], [True] * 12)


def check_desk(page, report, odd, folder):
    """The sentence for whoever asks, and beside the findings what was seen, where there is room."""
    severities = {}
    for finding in report.findings:
        severities.setdefault(finding["subject"]["name"], set()).add(finding["severity"])
    errors = sum("error" in some for some in severities.values())
    begin = f"{len(odd)} of 2,000 nodes ({round(len(odd) / 20, 1)} %) need work: {errors} with errors, where jobs fail or lose a rail ("
    expect("the sentence", text(page, "#verdict")[:len(begin)], begin)
    expect("and the tiles count the same nodes", tiles(page), {"errors": errors, "warnings": len(odd) - errors})
    expect("and what it is about", all(code in text(page, "#verdict") for code in odd.values()))
    expect("and what to do first", report.findings[0]["remedy"] in text(page, "#verdict"))
    column = "document.querySelector('#r0 > .text').textContent"
    sentence = next(one["sentence"] for one in report.findings if one["subject"]["name"] == "gpu-17").rstrip(".")
    cut = "[...document.querySelectorAll('#body .row.tall > .text')].filter(each => each.scrollHeight > each.clientHeight).map(each => each.innerText)"
    for width, there in ((1000, False), (1280, True), (1440, True)):
        page.resize(width, 900)
        expect(f"evidence in the grid at {width}", sentence in page.run(column), there)
        expect(f"what is cut off at {width}", page.run(cut), [])
    page.screenshot(folder / "odd-1440.png")
    page.resize(1280, 900)


def check_details(page, report, folder):
    page.show(report.file, "#node=gpu-808")
    expect("a link to a node", text(page, "#details-title"), "gpu-808")
    for finding in report.findings:
        node = finding["subject"]["name"]
        page.run(f"location.hash = 'node={node}'")
        page.settle()
        shown = text(page, "#details")
        for text_of in (node, finding["code"], ", ".join(finding["subject"]["parts"]), finding["sentence"], finding["remedy"]):
            expect(f"{node}: {text_of}", text_of in shown)
    page.show(report.file)
    page.click("#r0c4")  # mlx5_3 of gpu-17
    expect("a click opens the node", text(page, "#details-title"), "gpu-17")
    shown = text(page, "#details")
    for part in ("Down since 2026-11-20T05:12:00Z", "=mlx5_1,mlx5_2,mlx5_4", "10.3.0.18/16", "link-local", "0000:13:00.0", "MT_0000000223"):
        expect(f"details: {part}", part in shown)
    expect("the port that was clicked", page.run("document.querySelector('tr.chosen').textContent").startswith("!mlx5_3Down"))
    check_bounds(page, "details")
    check_contrast(page, "details")
    page.screenshot(folder / "details-light.png")
    page.key("Escape")
    expect("Esc closes", is_open(page), False)
    expect("and goes back to the grid", page.run("document.activeElement.id"), "grid")


def check_keys(page):
    expect("where it begins", active(page), ["gpu-17", 5])
    page.key("ArrowDown")
    page.key("ArrowRight")
    expect("arrows", active(page), ["gpu-140", 6])
    page.key("Home")
    expect("Home", active(page), ["gpu-140", 1])
    for _ in range(60):
        page.key("ArrowDown")
    there = active(page)
    box = page.run("""(() => { const row = document.querySelector(".active-row").getBoundingClientRect(),
                      port = document.getElementById("scroller").getBoundingClientRect();
                      return row.top >= port.top && row.bottom <= port.bottom; })()""")
    expect("the row moves into view", [there[0], box], ["gpu-50", True])
    page.key("Enter")
    expect("Enter opens", text(page, "#details-title"), "gpu-50")
    expect("and goes there", page.run("document.activeElement.id"), "details")
    expect("a link names the node", page.run("location.hash"), "#node=gpu-50")
    page.key("Escape")
    page.key("PageDown")
    expect("PageDown", int(active(page)[0].split("-")[1]) > 55)
    visible = page.run("getComputedStyle(document.querySelector('.active')).outlineStyle")
    expect("focus can be seen", visible, "solid")


def check_filter(page):
    page.key("/")
    expect("/ goes to the filter", page.run("document.activeElement.id"), "filter")
    page.type("gpu-19 rate:")
    expect("several words", page.run("[...document.querySelectorAll('#body .name')].every(e => !e.title || e.title.startsWith('gpu-19'))"))
    page.key("Escape")
    page.type("gpu-1999")
    expect("one node", [names(page), text(page, "#shown")], [["gpu-1999"], "1 of 2,000 nodes"])
    page.key("Enter")
    page.key("Enter")
    expect("from the filter to the node", text(page, "#details-title"), "gpu-1999")
    page.key("Escape")
    page.key("/")
    page.key("Escape")
    expect("Esc clears", text(page, "#shown"), "2,000 nodes")
    page.key("Escape")
    expect("and leaves", page.run("document.activeElement.id"), "grid")
    for words, wanted in (("ratelow", ["gpu-1024", "gpu-1200"]), ("gid:5", ["gpu-808"]), ("rate:50", ["gpu-1200"]),
                          ("stale", ["gpu-1404"]), ("init", ["gpu-140"]), ("no such", [])):
        page.key("/")
        page.type(words)
        expect(f"filter {words}", names(page), wanted)
        page.key("Escape")
        page.key("Escape")
    page.click(".chip:nth-child(1)")
    expect("a finding's chip", [names(page), "Check cable" in text(page, "#check")], [["gpu-17", "gpu-140"], True])
    page.click(".chip:nth-child(1)")
    expect("and again", text(page, "#shown"), "2,000 nodes")


def check_modes(page, folder):
    def cell(row, column):
        return page.run(f"(c => [c.textContent, c.dataset.kind, c.dataset.found || ''])(document.getElementById('r{row}c{column}'))")
    page.run("document.getElementById('scroller').scrollTop = 0")
    page.settle()
    expect("Down", cell(0, 4), ["D", "down", "error"])
    expect("Init", cell(1, 8), ["In", "between", "error"])
    expect("missing", cell(2, 6), ["–", "missing", ""])
    expect("not fabric", cell(0, 1), ["A", "off", ""])
    choose(page, "mode", "rate")
    expect("a slow port", cell(7, 4), ["100", "s1", "warning"])
    expect("a usual one", cell(7, 3), ["200", "s0", ""])
    check_contrast(page, "rate")
    page.screenshot(folder / "rate-light.png")
    choose(page, "mode", "mtu")
    expect("another MTU", cell(4, 5), ["1024", "s2", "error"])
    expect("the usual one", cell(4, 6), ["4096", "s0", ""])
    check_contrast(page, "MTU")
    choose(page, "mode", "gid")
    expect("another index", cell(5, 7), ["5", "c1", "error"])
    expect("the usual one", cell(5, 6), ["3", "c0", ""])
    check_contrast(page, "GID index")
    choose(page, "mode", "state")


def check_theme(page, folder):
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.run(ground)
    page.prefer("dark")
    dark = page.run(ground)
    expect("dark by preference", light != dark)
    page.settle()
    page.screenshot(folder / "odd-dark.png")
    choose(page, "theme", "light")
    expect("light by choice", page.run(ground), light)
    page.prefer("light")
    choose(page, "theme", "dark")
    expect("dark by choice", page.run(ground), dark)
    choose(page, "theme", "auto")
    expect("as the system has it", page.run(ground), light)


def check_print(page):
    pages = len(re.findall(rb"/Type\s*/Page\b", page.pdf()))
    expect(f"{pages} pages of paper for 2,000 nodes", 4 <= pages <= 20)
    page.settle()
    expect("the grid is back", len(names(page)) < 60 and names(page)[0] == "gpu-17")


def check_odd(browser, report, odd, folder):
    page = browser.show(report.file)
    check_order(page, report, odd)
    check_desk(page, report, odd, folder)
    check_bounds(page, "2,000 nodes")
    check_contrast(page, "2,000 nodes")
    page.screenshot(folder / "odd-light.png")
    page.resize(800, 900)
    page.screenshot(folder / "odd-800.png")
    page.resize(1280, 900)
    check_details(page, report, folder)
    check_keys(page)
    check_filter(page)
    check_modes(page, folder)
    check_theme(page, folder)
    check_print(page)
    check_bounds(page, "after use")
    check_quiet(page, report.file)
    page.close()


def check_hostile(browser, report, folder):
    """Every text of the data is replaced by one that would do harm as HTML."""
    def spoil(html):
        data = json.loads(html[2])
        words = {"Active", "Down", "Init", "index", "portDown", "noUsableRow"}  # the program's own, as are codes

        def is_own(one):
            return one in words or re.fullmatch(r"[A-Z]+[a-z]+([A-Z][A-Za-z]*)+", one)
        data["strings"] = [one if is_own(one) else one + HOSTILE for one in data["strings"]]
        data["policies"] = [HOSTILE]
        data["version"] = data["time"] = data["title"] = HOSTILE
        return html[1] + json.dumps(data).replace("<", "\\u003c") + html[3]

    file = folder / "hostile.html"
    file.write_text(DATA.sub(spoil, report.file.read_text(), count=1))
    page = browser.show(file)
    page.click("#r0c4")
    expect("the name as it is", text(page, "#details-title"), "gpu-17" + HOSTILE)
    page.key("Escape")
    page.click(".chip:nth-child(1)")
    for mode in ("rate", "mtu", "gid", "state"):
        choose(page, "mode", mode)
    page.pdf()
    expect("elements made of names", page.run("document.querySelectorAll('img, [onerror], body script').length"), 2)
    check_bounds(page, "hostile")
    check_quiet(page, file)
    refused = """(() => { const script = document.createElement("script"); script.textContent = "window.ran = 1";
                 document.body.append(script); return window.ran === undefined; })()"""
    expect("the policy refuses other scripts", page.run(refused))
    page.close()


def search(page, words):
    """The nodes that the filter leaves."""
    page.run(f"(i => {{ i.value = {json.dumps(words)}; i.dispatchEvent(new Event('input')); }})(document.getElementById('filter'))")
    page.settle()
    return names(page)


def check_sections(page):
    """Pools are apart, each with its own rails and rates."""
    expect("pools, odd nodes first", page.run("[...document.querySelectorAll('#body .about b')].map(e => e.textContent)"),
           ["pool-1: ", "pool-1: ", "pool-2: ", "pool-3: "])
    cells = "name => [...document.querySelectorAll('#body [data-row]')].find(row => row.querySelector('.name').title == name).querySelectorAll('.cell').length"
    expect("cells of a pool's own rails", [page.run(f"({cells})('fast-0')"), page.run(f"({cells})('gpu-0')")], [5, 9])
    choose(page, "mode", "rate")
    kinds = "[...new Set([...document.querySelectorAll('#body .cell[data-kind]')].map(cell => `${cell.textContent} ${cell.dataset.kind}`))].sort()"
    expect("each rate is its rail's usual one", page.run(kinds), ["200 s0", "25 off", "400 s0", "– none"])
    choose(page, "mode", "state")


def check_long_names(page):
    expect("the middle of a long name goes", page.run(
        f"document.querySelector('#body .name[title=\"{fleet.LONG_NAME}\"]').textContent"), "ip-10-0-141…ong-domain")
    page.resize(500, 2000)
    page.run("document.getElementById('scroller').scrollLeft = 300")
    page.settle()
    place = page.run("""(() => { const box = id => document.getElementById(id).getBoundingClientRect();
                        return [box("r0c0").left - box("scroller").left, box("scroller").left > box("r0c1").left]; })()""")
    expect("names stay, cells go", place, [1, True])
    page.run("document.getElementById('scroller').scrollLeft = 0")
    page.resize(1280, 900)


def check_search(page):
    mapped = "0000:0000:0000:0000:0000:ffff:0a01:0002"
    for words, wanted in (("10.1.0.2", ["gpu-1"]), ("10.1.0.2<51234>", ["gpu-1"]), ("::ffff:10.1.0.2", ["gpu-1"]), (mapped, ["gpu-1"]),
                          ("MT_0000000838", [f"fast-{number}" for number in range(6)]), ("eth8 gpu-29", ["gpu-29"]),
                          ("fe80::b83f:2:0:1", ["ib-2"]), (fleet.HOSTILE_BOARD, ["gpu-26"])):
        expect(f"filter {words}", search(page, words), wanted)
    search(page, "10.99.0.1")
    expect("what can be searched is told", "addresses, GIDs, boards" in text(page, "#none"))
    expect("nothing was run", page.run("document.querySelectorAll('body script').length"), 2)
    search(page, "")


def chip_of(page, check):
    """Chips stand by severity, then by how many nodes they count."""
    place = page.run(f"[...document.querySelectorAll('.chip')].findIndex(chip => chip.textContent.includes('{check}'))")
    return f".chip:nth-child({place + 1})"


def check_groups(page, report):
    """Findings of one kind stand together, with their nodes and what was seen."""
    chip = chip_of(page, "PortDown")
    page.click(chip)
    shown = text(page, "#check")
    expect("chips count nodes", text(page, chip).split(), ["!", "PortDown", "4", "nodes"])
    expect("sentence and tiles count nodes, too", [text(page, "#verdict").split(" with ")[0][-1], tiles(page)], ["4", {"errors": 4, "warnings": 1}])
    expect("its evidence", [part in shown for part in ("PortDown × 5", "mlx5_1, mlx5_2, mlx5_4, mlx5_5 and 3 more", "Active on 29 of 30", "gpu-17")], [True] * 4)
    remedies = {finding["remedy"] for finding in report.findings if finding["code"] == "PortDown"}
    expect("each remedy, said once", [shown.count("Do: "), all(one in shown for one in remedies)], [len(remedies), True])
    page.click("#check .link")
    expect("a node there opens", text(page, "#details-title"), "gpu-3")
    expect("one card a check", page.run("document.querySelectorAll('#details .finding').length"), 1)
    page.run("history.back()")
    page.settle()
    expect("the way back closes it", is_open(page), False)
    page.click(chip)


def check_address(page, report):
    page.show(report.file, "#q=gpu&check=PortDown&mode=rate&node=gpu-20")
    expect("filter, check, mode and node", [names(page), page.run("document.getElementById('filter').value"), text(page, "#details-title"),
                                            page.run("document.querySelector('#mode :checked').value")],
           [["gpu-3", "gpu-17", "gpu-20", "gpu-21"], "gpu", "gpu-20", "rate"])
    page.key("Escape")
    expect("the address follows", page.run("location.hash"), "#q=gpu&check=PortDown&mode=rate")
    page.show(report.file, "#node=no-such")
    expect("a node that is not there", text(page, "#notice"), "This report has no node no-such.")


def check_share(page):
    """What is shown, as a list, a table and an object; no cell is a formula."""
    page.run("""window.saved = []; window.copied = []; URL.createObjectURL = blob => { saved.push(blob.text()); return "data:,"; };
                HTMLAnchorElement.prototype.click = () => {};
                Object.defineProperty(navigator, "clipboard", {value: {writeText: text => { copied.push(text); return Promise.resolve(); }}}); 0""")
    search(page, "gpu-2")
    shown = page.run("document.getElementById('shown').textContent")
    for number in (1, 2, 3):
        page.click(f"#share button:nth-child({number})")
    copied, (table, whole) = page.run("copied"), page.run("Promise.all(saved)")
    listed = copied[0].split()
    expect("names", [listed[:3], len(listed)], [["gpu-20", "gpu-21", "gpu-26"], int(shown.split()[0])])
    lines = list(csv.DictReader(io.StringIO(table)))
    expect("lines of ports", [len(lines), lines[3]["node"], lines[3]["hca"], lines[3]["state"], lines[0]["rate_gbps"]],
           [9 * len(listed), "gpu-20", "mlx5_3", "Down", "25"])
    expect("the same nodes", [each["node"] for each in json.loads(whole)["nodes"]], listed)
    page.key("/")
    page.key("Escape")
    chip = chip_of(page, "PortDown")
    page.click(chip)
    page.click("#check button.small")
    expect("a finding for a ticket", "Do: Check cable" in page.run("copied[1]") and "gpu-17 mlx5_3" in page.run("copied[1]"))
    page.click(chip)


def check_phone(page, folder):
    page.resize(390, 844)
    place = page.run("document.getElementById('scroller').getBoundingClientRect().top")
    expect(f"the grid begins at {place:.0f} of 844", place < 422)
    shown = page.run("""[...document.querySelectorAll('#body .row.two')].slice(0, 12).map(row => {
        const below = row.querySelector('.below').getBoundingClientRect(), whole = row.getBoundingClientRect();
        return [row.querySelector('.below').textContent, below.left >= 0 && below.right <= innerWidth && below.bottom <= whole.bottom]; })""")
    odd = int(text(page, "#verdict").split()[0])
    expect("each odd row has its findings in view", [len(shown), all(words and seen for words, seen in shown)], [min(odd, 12), True])
    edges = page.run("""[...document.querySelectorAll('#body > *')].map(e => e.getBoundingClientRect()).map(r => [r.top, r.bottom])""")
    expect("rows and heads follow each other", all(abs(one[1] - other[0]) < 1 for one, other in zip(edges, edges[1:])))
    page.screenshot(folder / "phone.png")
    page.click("#r0c0")
    expect("the page behind takes no focus", page.run("[document.querySelector('main').inert, document.getElementById('details').inert]"), [True, False])
    page.screenshot(folder / "phone-details.png")
    page.key("Escape")
    expect("then it does", page.run("document.querySelector('main').inert"), False)
    page.resize(1280, 900)


def check_without_script(browser, report):
    page = browser.page()
    page.let_scripts_run(False)
    page.open(report.file)
    shown = text(page, "#plain")
    expect("findings as text", [part in shown for part in ("mixed\n2026-11-20T08:00:00Z\n40 nodes, 3 pools", "error PortDown", "Do: Check cable",
                                                           fleet.HOSTILE_BOARD)], [True] * 4)
    page.close()


def check_mixed(browser, report, folder):
    page = browser.page()
    page.open(report.file)
    page.resize(1280, 2000)
    check_sections(page)
    check_long_names(page)
    check_search(page)
    check_groups(page, report)
    check_address(page, report)
    page.show(report.file)
    check_share(page)
    check_phone(page, folder)
    check_bounds(page, "mixed")
    check_contrast(page, "mixed")
    page.screenshot(folder / "mixed-light.png")
    check_quiet(page, report.file)
    page.close()
    check_without_script(browser, report)


def check_terminal(program, folder):
    """One line, where somebody reads it."""
    ours, theirs = pty.openpty()
    page = folder / "told.html"
    subprocess.run([program, "report", "--store", f"dir:{folder / 'mixed'}", "--at", fleet.NOW, "-o", page], stderr=theirs, check=True)
    os.close(theirs)
    told = os.read(ours, 4096).decode().strip()
    os.close(ours)
    expect("the line", told, f"{page}: 40 nodes, 5 errors ({(page.stat().st_size + 500) // 1000} KB)")


def main(program, folder):
    folder = pathlib.Path(folder).resolve()
    healthy = Report(program, folder, "healthy", fleet.fleet(200))
    nodes = fleet.fleet(2000)
    odd_nodes = fleet.plant(nodes)
    odd = Report(program, folder, "odd", nodes)
    mixed = Report(program, folder, "mixed", fleet.mixed())
    check_terminal(program, folder)
    wide = Report(program, folder, "wide", fleet.fleet(2000, rails=16))
    expect("what the doctor names", {finding["subject"]["name"] for finding in odd.findings}, set(odd_nodes))
    browser = Browser()
    try:
        check_healthy(browser, healthy, folder)
        check_ports(browser, program, folder)
        check_odd(browser, odd, odd_nodes, folder)
        check_hostile(browser, odd, folder)
        check_mixed(browser, mixed, folder)
        for report, what in ((healthy, "200 nodes of 9 ports"), (odd, "2,000 of 9"), (wide, "2,000 of 17")):
            tell_times(browser, report, what)
    finally:
        browser.close()
    print(f"report: all checks passed; screenshots in {folder}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Broken as broken:
        sys.exit(f"report: {broken}")
