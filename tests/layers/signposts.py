#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What docs/internals/architecture.md and CONTRIBUTING.md send a reader to has to be there. Prints PAGE:LINE: path and exits 1
if something is not.

A path is a word in backquotes that begins with a folder of ours. It may lack the ending of a header or source, and
holds NAME, ROOM or LAYER for any name. In a table's row a bare word after a path is another file of the same folder."""
import pathlib
import re
import sys

PAGES = ("docs/internals/architecture.md", "CONTRIBUTING.md")
PATH = re.compile(r"(cmake|docs|images|include|manifests|policies|scripts|src|tests)/[\w./*-]*$")
NAME_IN_ROW = re.compile(r"[a-z_0-9]+(\.(cc|h))?$")


def is_there(root, path):
    pattern = re.sub(r"NAME|ROOM|LAYER", "*", path).rstrip("/")
    header = re.sub(r"^src/", "include/nccl_env/", pattern)
    return any(any(root.glob(there)) for there in (pattern, f"{pattern}.cc", f"{pattern}.h", f"{header}.h"))


def missing(root, page):
    for number, line in enumerate((root / page).read_text().splitlines(), 1):
        # The first cell of a row says what one wants.
        words = line.split("|", 2)[2] if line.startswith("|") else line
        folder = None
        for word in re.findall(r"`([^`]+)`", words):
            path = word
            if PATH.match(word):
                folder = word.rpartition("/")[0]
            elif folder and line.startswith("|") and NAME_IN_ROW.match(word):
                path = f"{folder}/{word}"
            else:
                continue
            if not is_there(root, path):
                yield f"{page}:{number}: {path}"


if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1])
    lost = [line for page in PAGES for line in missing(root, page)]
    print("\n".join(lost) or "all that the signposts name is there")
    sys.exit(1 if lost else 0)
