#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hot_copies.py MAP COLD...: proof that no function that a request waits for is one that a cold layer compiled. Of an inline
function the linker keeps the first copy; the linker's map names those that it dropped. Prints each function of which a hot
layer's copy was dropped for that of a library COLD, and exits 1 if there is one."""
import re
import sys

SECTION = re.compile(r"^ (\.text\S*)\s+0x[0-9a-f]+\s+0x[0-9a-f]+ (\S+)$|^ (\.text\S*)$|^\s+0x[0-9a-f]+\s+0x[0-9a-f]+ (\S+)$")


def sections(lines):
    """Yields (section, file); a long name has its file on the next line."""
    name = None
    for line in lines:
        found = SECTION.match(line)
        if found and found[3]:
            name = found[3]
            continue
        if found and found[1]:
            yield found[1], found[2]
        elif found and found[4] and name:
            yield name, found[4]
        name = None


def violations(text, cold):
    dropped_text, _, kept_text = text.partition("\nMemory Configuration")
    def is_cold(file):
        return any(f"lib{layer}.a" in file for layer in cold)
    kept = {name: file for name, file in sections(kept_text.splitlines())}
    for name, file in sections(dropped_text.splitlines()):
        if "." in name.removeprefix(".text."):
            continue  # a clone (.isra.0, .constprop.0): its own layer's alone
        if "nccl_env" in file and not is_cold(file) and name in kept and is_cold(kept[name]):
            yield f"{name}: {file.rsplit('/', 1)[-1]} lost its copy to {kept[name].rsplit('/', 1)[-1]}"


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        found = sorted(set(violations(file.read(), sys.argv[2:])))
    print("\n".join(found) or "no hot function is of a cold layer")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
