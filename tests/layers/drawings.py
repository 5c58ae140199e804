#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each room has a header to read first, whose head comment draws the room's data: [ Pod ] --> [ Container ]. A layer
without rooms is one. Prints each room without a drawing, and exits 1 if there is one."""
import collections
import pathlib
import re
import sys

from include_rules import ROOMS, place_of, sources

HEAD = re.compile(r"(?://[^\n]*\n)*")
DRAWING = re.compile(r"^//   (.*->|[ |]+$)", re.M)  # an arrow, or a line of strokes


def missing(root):
    """Yields "LAYER/ROOM"."""
    drawn = collections.defaultdict(bool)
    for path in sources(root, "include", "src"):
        layer, room = place_of(path)
        if path.endswith(".h") and layer and (room or layer not in ROOMS):
            drawn[f"{layer}/{room}" if room else layer] |= bool(DRAWING.search(HEAD.match((root / path).read_text())[0]))
    yield from sorted(room for room, is_drawn in drawn.items() if not is_drawn)


if __name__ == "__main__":
    rooms = list(missing(pathlib.Path(sys.argv[1])))
    print("\n".join(f"no header of {room} begins with a drawing of its data" for room in rooms) or "each room has its drawing")
    sys.exit(1 if rooms else 0)
