#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the layers and the rooms of core and judge from the includes of src/ and include/. An arrow leads to what is included;
one that other arrows imply is left out. The picture stands in docs/internals/architecture.md between two markers:

  rooms.py          prints it
  rooms.py --write  puts it into the page
  rooms.py --check  exits 1 if the page has another one"""
import argparse
import pathlib
import re
import sys

from include_rules import INCLUDE, PURE, place_of, sources

PAGE = "docs/internals/architecture.md"
COMMAND = "python3 tests/layers/rooms.py --write"
BEGIN, END = f"<!-- rooms: {COMMAND} -->", "<!-- rooms: end -->"
EVERYBODYS = "result"  # include/nccl_env/result.h and the headers beside it, which stand in no layer


def target_of(path, header):
    """(layer, room) of a header of ours that the file `path` includes."""
    if header.startswith("nccl_env/"):
        layer, room = place_of(f"include/{header}")
    else:
        layer, room = place_of(f"src/{place_of(path)[0]}/{header}")
    return layer or EVERYBODYS, room


def arrows(root):
    """Returns layer -> layers and room of core or judge -> such rooms, as the includes have them."""
    layers, rooms = {}, {}
    for path in sources(root, "include", "src"):
        layer, room = place_of(path)
        if layer is None:
            continue
        layers.setdefault(layer, set())
        if layer in PURE and room:
            rooms.setdefault(room, set())
        for line in (root / path).read_text().splitlines():
            found = INCLUDE.match(line)
            if not found or found[1] != '"':
                continue
            other_layer, other_room = target_of(path, found[2])
            if other_layer != layer:
                layers[layer].add(other_layer)
            if layer in PURE and other_layer in PURE and room and other_room not in (None, room):
                rooms[room].add(other_room)
    return layers, rooms


def heights(graph):
    """Returns name -> the longest way down from it."""
    known, open_names = {}, []

    def height(name):
        if name in open_names:
            raise ValueError(f"a circle of includes: {' -> '.join([*open_names[open_names.index(name):], name])}")
        if name not in known:
            open_names.append(name)
            known[name] = max((1 + height(below) for below in sorted(graph.get(name, ()))), default=0)
            open_names.pop()
        return known[name]

    for name in sorted(graph):
        height(name)
    return known


def reduced(graph):
    """Returns the graph without the arrows that others imply; it has no circles."""
    def reachable(name):
        return {name}.union(*(reachable(below) for below in graph.get(name, ())))

    return {name: {below for below in belows
                   if not any(below in reachable(other) for other in belows - {below})}
            for name, belows in graph.items()}


def flowchart(graph):
    high = heights(graph)

    def in_order(names):
        return sorted(names, key=lambda name: (-high[name], name))

    lines = [f"  {name} --> {' & '.join(in_order(belows))}"
             for name, belows in ((name, reduced(graph)[name]) for name in in_order(graph)) if belows]
    return "\n".join(["```mermaid", "flowchart TD", *lines, "```"])


def picture(root):
    layers, rooms = arrows(root)
    return f"Layers:\n\n{flowchart(layers)}\n\nRooms of core and judge:\n\n{flowchart(rooms)}"


def with_picture(text, drawn):
    block = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.S)
    if len(block.findall(text)) != 1:
        raise ValueError(f"{PAGE}: expected one pair of {BEGIN} and {END}")
    return block.sub(lambda _: f"{BEGIN}\n{drawn}\n{END}", text)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    args = parser.parse_args(arguments)
    try:
        drawn = picture(args.root)
        if not args.write and not args.check:
            print(drawn)
            return 0
        page = args.root / PAGE
        text = page.read_text()
        wanted = with_picture(text, drawn)
    except ValueError as problem:
        print(problem)
        return 1
    if args.write:
        page.write_text(wanted)
    elif text != wanted:
        print(f"{PAGE}: its picture is not that of the includes, which is below. {COMMAND} puts it there.\n\n{drawn}")
        return 1
    else:
        print(f"{PAGE} has the picture of the includes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
