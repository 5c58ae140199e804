#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps every measured figure that a page states in figures.tsv, and writes it into the pages.

  figures.py --check     exits 1 if a page says something else, or states a figure by hand
  figures.py [SOURCE…]   measures (all but bench-api and cluster, or these), then writes the file and the pages;
                         --write: the pages alone

A page has <!--=NAME-->text<!--/--> around a figure, NAME.spread (least and greatest), NAME.commit or NAME.origin
(machine, date and commit). A source prints lines `NAME: VALUE` or `NAME: VALUE (SPREAD)`; names that no page has are not
kept. Rows of the source `once` have no command: they are of the commit that they name. Counted figures
(cost.NAME.instructions, cost.NAME.allocations) are cost.tsv's."""
import datetime
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE, BIN, BENCH = ROOT / "tests/bench/figures.tsv", "build/release/bin", "tests/bench"
PYTHON = (sys.executable, "-B")
SOURCES = {  # and whether it is run where none is named
    "compare": (True, [*PYTHON, f"{BENCH}/compare.py", "build/release"]),
    "tables": (True, [*PYTHON, f"{BENCH}/tables.py", f"{BIN}/nccl-env-webhook"]),
    "agent": (True, [*PYTHON, f"{BENCH}/agent_cost.py", f"{BIN}/nccl-env-agent"]),
    "bench-api": (False, ["make", "bench-api", "BENCH_API=--clients 1,32 --rounds 9 --tables 1000"]),
    "cluster": (False, ["make", "cluster-test", "SCENARIOS=figures", "CLUSTER_PODS=50"])}
COLUMNS = ("name", "value", "spread", "source", "commit", "date", "machine")
MARK = re.compile(r"<!--=([\w.]+)-->(.*?)<!--/-->", re.S)
LINE = re.compile(r"^(\w+): (-?[\d.]+)(?: \(([^)]*)\))?$", re.M)

# A figure by hand: a decimal with a unit, or a unit that only a measurement has; on pages of figures any number with a
# unit. On the other pages whole numbers are bounds and options, which tests of their own hold beside the programs.
PAGES_OF_FIGURES = ("README.md", "docs/operate/operations.md", "tests/bench/README.md")
NUMBER = r"(?<![\w.,:/-])\d[\d., \u00a0]*"
MEASURED = re.compile(rf"{NUMBER} ?(?:µs|% of a CPU|instructions|allocations)|"
                      r"(?<![\w.])\d+\.\d+ ?(?:m?s|[GMK]i?B|kB|times)\b")
ANY = re.compile(rf"{NUMBER} ?(?:µs|m?s|[GMK]i?B|kB|times|instructions|allocations|a second|bytes|% of a CPU)(?!\w)")
INPUT, BOUND = "a size of what is sent", "a bound, which tests or the program itself hold"
ALLOWED = {
    "README.md": {"pod of 1 KB": INPUT},
    "docs/operate/install.md": {"1.5 GB": "Debian's packages"},
    "docs/operate/operations.md": {
        "(12 KB)": INPUT, "pod of 1.1 KB": INPUT, "of 11 KB": INPUT, "below 1.4 KB": BOUND, "20 KiB plus": BOUND,
        "95 s at most": BOUND, "5 s": "a hook's timeout, and Kubernetes's 45 s"},
    "docs/reference/webhook.md": {"1.5 MiB": BOUND, "up to 0.3 s": BOUND},
    "tests/bench/README.md": {"12 KB": INPUT, "1.2 KB": INPUT, "1.1 KB": INPUT, "400 ms": BOUND, "5 ms": BOUND,
                              "within 2 s": BOUND}}


def figure(name, values):
    """The line of a source: the median of the values, with the least and the greatest if there are several."""
    shown = [f"{value:.3g}" if abs(value) < 999.5 else f"{value:.0f}"
             for value in (statistics.median(values), min(values), max(values))]
    return f"{name}: {shown[0]}" + (f" ({shown[1]}–{shown[2]})" if len(values) > 1 else "")


def read_rows():
    rows = (line.split("\t") for line in FILE.read_text().splitlines() if line and not line.startswith("#"))
    return {cells[0]: dict(zip(COLUMNS, cells)) for cells in rows}


def write_rows(rows):
    head = [line for line in FILE.read_text().splitlines() if line.startswith("#")]
    lines = ["\t".join(rows[name][column] for column in COLUMNS) for name in sorted(rows)]
    FILE.write_text("\n".join([*head, *lines, ""]))


def counted():
    """Of cost.tsv, as figures: cost.pod.instructions."""
    for line in (ROOT / BENCH / "cost.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            answer, allocations, instructions = line.split("\t")
            name = "cost." + re.sub(r"\W+", "_", answer).lower()
            yield f"{name}.allocations", allocations
            yield f"{name}.instructions", f"{int(instructions):,}".replace(",", " ")


def texts_of(rows):
    """What stands between a mark's two halves, by its name."""
    texts = dict(counted())
    for name, row in rows.items():
        day = datetime.date.fromisoformat(row["date"])
        origin = f"{row['machine']}, {day.day} {day:%B %Y}, {row['commit']}"
        texts |= {name: row["value"], f"{name}.spread": row["spread"], f"{name}.origin": origin,
                  f"{name}.commit": row["commit"]}
    return texts


def pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / BENCH / "README.md"]


def filled(text, texts):
    return MARK.sub(lambda mark: f"<!--={mark[1]}-->{texts.get(mark[1], mark[2])}<!--/-->", text)


def by_hand(page, text):
    """Figures outside marks, code and comments, each with its line's number."""
    blank = lambda found: re.sub(r"[^\n]", " ", found[0])  # noqa: E731
    for pattern in (MARK.pattern, r"^( *```).*?^ *```", r"<!--.*?-->", r"`[^`\n]*`"):
        text = re.sub(pattern, blank, text, flags=re.M | re.S)
    for allowed in ALLOWED.get(page, {}):
        text = text.replace(allowed, "")
    for number, line in enumerate(text.splitlines(), 1):
        yield from ((number, found[0].strip()) for found in (ANY if page in PAGES_OF_FIGURES else MEASURED).finditer(line))


def problems(page, text, texts):
    for name, said in MARK.findall(text):
        if name not in texts:
            yield f"{page}: figures.tsv has no {name}"
        elif said != texts[name]:
            yield f"{page}: {name} is {texts[name]}, not {said}: `tests/bench/figures.py --write`"
    for number, what in by_hand(page, text):
        yield f"{page}:{number}: {what!r} is stated by hand: put it into figures.tsv, or say in ALLOWED why not"


def check():
    rows, used, found = read_rows(), set(), []
    texts = texts_of(rows)
    for path in pages():
        text = path.read_text()
        used |= {name.split(".")[0] for name, _ in MARK.findall(text)}
        found += problems(str(path.relative_to(ROOT)), text, texts)
    found += [f"figures.tsv: no page has {name}" for name in rows if name not in used]
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=True).stdout.strip()


def idle_seconds():
    """Of all processors together."""
    return float(pathlib.Path("/proc/uptime").read_text().split()[1])


def machine():
    """As AMD EPYC (family 25, model 17), 2 CPUs; the machine's name is nobody's business."""
    cpu = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M))
    name = re.sub(r"\((R|TM)\)| CPU.*| @.*| Processor.*| \d+-Core.*", "", cpu.get("model name", "CPU"))
    before = os.times().elapsed, idle_seconds()
    time.sleep(5)
    idle = (idle_seconds() - before[1]) / (os.times().elapsed - before[0]) / os.cpu_count()
    return (f"{name} (family {cpu.get('cpu family')}, model {cpu.get('model')}), {os.cpu_count()} CPUs"
            + (" beside other work" if idle < 0.9 else ""))


def measure(source, rows, wanted):
    where = {"source": source, "commit": git("rev-parse", "--short=8", "HEAD"),
             "date": datetime.date.today().isoformat(), "machine": machine()}
    run = subprocess.Popen(SOURCES[source][1], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    printed = ""
    for line in run.stdout:
        print(line, end="", flush=True)
        printed += line
    if run.wait() != 0:
        raise SystemExit(f"{source}: exit code {run.returncode}; nothing of it was written")
    found = {name: {"name": name, "value": value, "spread": spread, **where}
             for name, value, spread in LINE.findall(printed) if name in wanted}
    missing = [name for name, row in rows.items() if row["source"] == source and name not in found]
    if missing:
        raise SystemExit(f"{source} did not print {', '.join(missing)}; nothing of it was written")
    return found


def main():
    words = sys.argv[1:]
    if words == ["--check"]:
        return check()
    chosen = [] if words == ["--write"] else words or [name for name, (always, _) in SOURCES.items() if always]
    if not set(chosen) <= set(SOURCES):
        raise SystemExit(f"sources are {', '.join(SOURCES)}")
    if chosen and git("status", "--porcelain", "--", "src", "include", "cmake", "CMakeLists.txt"):
        raise SystemExit("figures are of a commit: commit src, include and cmake first")
    wanted = {name.split(".")[0] for path in pages() for name, _ in MARK.findall(path.read_text())}
    rows = {name: row for name, row in read_rows().items() if name in wanted}
    for source in chosen:
        rows |= measure(source, rows, wanted)
        write_rows(rows)
    for path in pages():
        path.write_text(filled(path.read_text(), texts_of(rows)))
    return check()


if __name__ == "__main__":
    sys.exit(main())
