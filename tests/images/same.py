#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two builds of an image have the same files, by their SBOMs: those of ours to the byte, and those of a package of
Debian's too, unless one machine has another version of it, which is said.

  same.py ONE.spdx.json OTHER.spdx.json"""
import json
import pathlib
import sys


def read(path):
    """Version by package, and by package the files with their digests."""
    document = json.loads(pathlib.Path(path).read_text())
    names = {package["SPDXID"]: package["name"] for package in document["packages"]}
    files = {file["SPDXID"]: (file["fileName"], file["checksums"][1]["checksumValue"]) for file in document["files"]}
    contents = {}
    for relation in document["relationships"]:
        if relation["relatedSpdxElement"] in files:
            package = names[relation["spdxElementId"]]
            contents.setdefault(package, {}).update([files[relation["relatedSpdxElement"]]])
    return {package["name"]: package["versionInfo"] for package in document["packages"]}, contents


def differences(one, other):
    (versions, files), (others, other_files) = one, other
    for name in sorted(versions.keys() ^ others.keys()):
        yield f"{name} is in one of them only"
    for name in sorted(files.keys() & other_files.keys()):
        if files[name].keys() != other_files[name].keys():
            yield f"{name}: other files: {', '.join(sorted(files[name].keys() ^ other_files[name].keys()))}"
        elif versions[name] != others[name]:
            print(f"{name}: {versions[name]} in one, {others[name]} in the other")
        elif files[name] != other_files[name]:
            yield f"{name} {versions[name]}: {', '.join(sorted(path for path in files[name] if files[name][path] != other_files[name][path]))}"


def main():
    found = list(differences(read(sys.argv[1]), read(sys.argv[2])))
    for one in found:
        print(one)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
