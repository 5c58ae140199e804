#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No circle of files: a header and the source of its name are one, and what it includes does not include it back, by
any way. Prints each circle and exits 1 if there is one."""
import pathlib
import sys

from include_rules import INCLUDE, sources


def unit_of(path):
    """LAYER/ROOM/NAME: of src/LAYER/ROOM/NAME.cc, of its header beside it or under include/nccl_env."""
    parts = pathlib.PurePosixPath(path).with_suffix("").parts
    return "/".join(parts[1:] if parts[0] == "src" else parts[2:])


def graph(root):
    """Returns unit -> the units that it includes."""
    files = sources(root, "include", "src")
    known, found = set(files), {}
    for path in files:
        includes = found.setdefault(unit_of(path), set())
        layer = pathlib.PurePosixPath(path).parts[1]
        for line in (root / path).read_text().splitlines():
            include = INCLUDE.match(line)
            if not include or include[1] != '"':
                continue
            places = (f"include/{include[2]}", f"src/{layer}/{include[2]}", f"{pathlib.PurePosixPath(path).parent}/{include[2]}")
            includes |= {unit_of(place) for place in places if place in known}
        includes.discard(unit_of(path))
    return found


def circles(includes):
    """The sets of units that all reach each other (Tarjan), each sorted."""
    order, low, stack, found = {}, {}, [], []

    def visit(unit):
        order[unit] = low[unit] = len(order)
        stack.append(unit)
        for other in sorted(includes.get(unit, ())):
            if other not in order:
                visit(other)
            if other in stack:
                low[unit] = min(low[unit], low[other])
        if low[unit] == order[unit]:
            at = stack.index(unit)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for unit in sorted(includes):
        if unit not in order:
            visit(unit)
    return found


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    met = circles(graph(pathlib.Path(sys.argv[1])))
    print("\n".join(f"a circle of includes: {', '.join(circle)}" for circle in met) or "no circle of files")
    sys.exit(1 if met else 0)
