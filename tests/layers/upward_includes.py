#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that an include which goes upwards does not compile.

For each layer the compiler, with this layer's include folders, says which public headers it finds: exactly those of
the layer's view, so that any other include is an error. The views of the layers that carry a promise are stated here
again, so that one more word in src/CMakeLists.txt cannot void it.
"""
import argparse
import pathlib
import subprocess
import sys

# Layer -> all that its view may ever hold, besides the headers of no layer, such as nccl_env/result.h.
PROMISES = {
    "core": ("nccl_env/core/",),
    "base": ("nccl_env/base/",),
    "net": ("nccl_env/base/", "nccl_env/net/"),
    "kube": ("nccl_env/core/", "nccl_env/base/", "nccl_env/net/", "nccl_env/kube/"),
    "listing": ("nccl_env/core/", "nccl_env/listing/"),
    "node": ("nccl_env/core/", "nccl_env/base/", "nccl_env/node/"),
}


def found_headers(compiler, folders, headers):
    """Those that an include finds."""
    command = [compiler, "-std=c++20", "-E", "-P", *(f"-I{folder}" for folder in folders), "-x", "c++", "-"]
    text = "".join(f'#if __has_include("{header}")\nfound "{header}"\n#endif\n' for header in headers)
    said = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [line.split('"')[1] for line in said.splitlines() if line.startswith("found ")]


def check_layer(compiler, layer, folders, headers):
    """Returns (number of headers out of reach, problems)."""
    inside = [h for h in headers if any(pathlib.Path(folder, h).exists() for folder in folders)]
    found = found_headers(compiler, folders, headers)
    problems = [f"{layer}: its view holds {h}, against its promise" for h in found
                if h.count("/") > 1 and not h.startswith(PROMISES.get(layer, ""))]
    if not found or found != inside:
        problems.append(f"{layer}: the compiler finds {found}, the folders hold {inside}")
    return len(headers) - len(found), problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", required=True, type=pathlib.Path)
    parser.add_argument("views", nargs="+", help="LAYER=FOLDER:FOLDER…")
    args = parser.parse_args()

    headers = sorted(str(p.relative_to(args.include)) for p in args.include.rglob("*.h"))
    refused = {}
    problems = [f"{layer}: no such layer" for layer in PROMISES
                if layer not in [view.partition("=")[0] for view in args.views]]
    for view in args.views:
        layer, _, folders = view.partition("=")
        refused[layer], found = check_layer(args.compiler, layer, folders.split(":"), headers)
        problems += found
    # The core sees its own headers only: if nothing was out of its reach, nothing was tested.
    if not refused.get("core"):
        problems.append("no header is out of reach of the lowest layer: the views are wrong")
    print("\n".join(problems) or "out of reach as they should be: " + ", ".join(f"{n} from {l}" for l, n in refused.items()))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
