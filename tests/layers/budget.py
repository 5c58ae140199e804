#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what the tree may weigh beside budget.tsv, row by row: budget.py ROOT. Prints each row that is over its budget, each
folder of sources without a row, and exits 1 if there is one. budget.py --show ROOT prints every row with what it weighs now.

A row is NAME, PART, WHAT it counts, MOST, and WHERE. `code` counts lines of .cc and .h that are neither blank nor a comment
alone, so that no comment is cut for a budget; its place is the room's folders in src and include/nccl_env without the rooms
below. `half` rows count to half for the injector and to half for the tool. `sum` adds the rows of a part. Other rows count
lines, words or files of the globs in WHERE. A room may be 3 % or 60 lines over its row, another row 1 %. Rows are lowered
when a change ends; one that rises needs another that falls."""
import pathlib
import re
import subprocess
import sys

COMMENT_OR_BLANK = re.compile(r"\s*(//|$)")
CODE = (".cc", ".h")


def code_lines(text):
    return sum(not COMMENT_OR_BLANK.match(line) for line in text.splitlines())


HALVES = ("injector", "tool")
COUNTS = {"code": code_lines, "lines": lambda text: len(text.splitlines()), "words": lambda text: len(text.split()),
          "files": lambda text: 1}


def files_of(root):
    """The files that git knows or would add; without git, all below the folders that rows name."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"],
                            capture_output=True, text=True)
    names = listed.stdout.splitlines() if listed.returncode == 0 else [
        str(path.relative_to(root)) for top in ("src", "include", "tests", "docs") for path in (root / top).rglob("*")]
    names += [] if listed.returncode == 0 else [path.name for path in root.glob("*.md")]
    return sorted({name for name in names if (root / name).is_file()})


def rows_of(text):
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != 5 or not cells[3].isdigit() or cells[2] not in (*COUNTS, "sum"):
            raise SystemExit(f"budget.tsv:{number}: expected NAME, PART, WHAT, MOST and WHERE between tabs: {line}")
        rows.append((*cells[:3], int(cells[3]), cells[4]))
    return rows


def room_of(name, rooms):
    """The row of a source: its nearest folder that has one; "" of include/nccl_env itself. None: there is no such row."""
    parts = pathlib.PurePosixPath(name).parts
    inside = parts[2:-1] if parts[0] == "include" else parts[1:-1]
    if not inside:
        return "result" if "result" in rooms else None
    for end in range(len(inside), 0, -1):
        if "/".join(inside[:end]) in rooms:
            return "/".join(inside[:end])
    return None


def is_source(name):
    return name.endswith(CODE) and name.startswith(("src/", "include/nccl_env/"))


def matches(name, globs):
    return any(re.fullmatch(re.escape(glob).replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*"), name)
               for glob in globs.split())


def weigh(root, rows, files):
    """What each row weighs, and the sources that no row counts."""
    rooms = {name for name, _, what, _, _ in rows if what == "code"}
    weights, homeless = dict.fromkeys((row[0] for row in rows), 0), []
    for file in files:
        text = None
        if is_source(file):
            text = (root / file).read_text()
            room = room_of(file, rooms)
            if room is None:
                homeless.append(file)
            else:
                weights[room] += code_lines(text)
        for name, _, what, _, where in rows:
            if what not in ("code", "sum") and matches(file, where):
                weights[name] += COUNTS[what]((root / file).read_text(errors="replace"))
    for name, part, what, _, _ in rows:
        if what == "sum":
            weights[name] = sum(weights[each] if of == part else weights[each] / 2
                                for each, of, kind, _, _ in rows if kind == "code" and of in (part, "half" if part in HALVES else part))
    return weights, homeless


def slack(what, most):
    """Lines of a room move from change to change; a count of files does not."""
    return {"code": max(60, most * 3 // 100), "files": 0}.get(what, most // 100)


def violations(rows, weights, homeless):
    for name, _, what, most, _ in rows:
        if weights[name] > most + slack(what, most):
            yield f"{name}: {weights[name]:g} of {most} {'code lines' if what in ('code', 'sum') else what}"
    for file in homeless:
        yield f"{file}: its folder has no row in tests/layers/budget.tsv"


def main():
    root = pathlib.Path(sys.argv[-1]).resolve()
    rows = rows_of((root / "tests/layers/budget.tsv").read_text())
    weights, homeless = weigh(root, rows, files_of(root))
    if sys.argv[1:2] == ["--show"]:
        for name, part, what, most, where in rows:
            print(f"{name}\t{part}\t{what}\t{most}\t{weights[name]:g}\t{where}")
        return 0
    found = list(violations(rows, weights, homeless))
    for line in found:
        print(f"over its budget: {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
