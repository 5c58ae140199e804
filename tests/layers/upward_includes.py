#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that an include which goes upwards does not compile.

For each layer, every public header outside its view is included in a translation unit that has this
layer's include folders, and the compiler has to say that there is no such file. A header inside the
view has to compile, so that a broken command line is not taken for proof. The views of the layers that
carry a promise are stated here again, so that one more word in src/CMakeLists.txt cannot void it.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

# Layer -> all that its view may ever hold.
PROMISES = {
    "core": ("nccl_env/result.h", "nccl_env/core/"),
    "base": ("nccl_env/result.h", "nccl_env/base/"),
    "net": ("nccl_env/result.h", "nccl_env/base/", "nccl_env/net/"),
    "kube": ("nccl_env/result.h", "nccl_env/core/", "nccl_env/base/", "nccl_env/net/", "nccl_env/kube/"),
    "listing": ("nccl_env/result.h", "nccl_env/core/", "nccl_env/listing/"),
    "node": ("nccl_env/result.h", "nccl_env/core/", "nccl_env/node/"),
}


def compile_include(compiler, folders, header, scratch):
    unit = pathlib.Path(scratch, "unit.cc")
    unit.write_text(f'#include "{header}"\n')
    command = [compiler, "-std=c++20", "-fsyntax-only", *(f"-I{folder}" for folder in folders), str(unit)]
    return subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"})


def check_layer(compiler, layer, folders, headers, scratch):
    """Returns (number of headers refused, problems)."""
    inside = [h for h in headers if any(pathlib.Path(folder, h).exists() for folder in folders)]
    outside = [h for h in headers if h not in inside]
    problems = [f"{layer}: its view holds {h}, against its promise" for h in inside
                if not h.startswith(PROMISES.get(layer, ""))]
    for header in inside[:1]:
        result = compile_include(compiler, folders, header, scratch)
        if result.returncode != 0:
            problems.append(f"{layer}: {header} is in its view but does not compile:\n{result.stderr}")
    for header in outside:
        result = compile_include(compiler, folders, header, scratch)
        if result.returncode == 0:
            problems.append(f"{layer}: {header} compiles, but no line of src/CMakeLists.txt allows it")
        elif f"{header}: No such file" not in result.stderr and f"'{header}' file not found" not in result.stderr:
            problems.append(f"{layer}: {header} fails for another reason than its absence:\n{result.stderr}")
    return len(outside), problems


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
    with tempfile.TemporaryDirectory() as scratch:
        for view in args.views:
            layer, _, folders = view.partition("=")
            refused[layer], found = check_layer(args.compiler, layer, folders.split(":"), headers, scratch)
            problems += found
    # The core sees its own headers only: if nothing was out of its reach, nothing was tested.
    if not refused.get("core"):
        problems.append("no header is out of reach of the lowest layer: the views are wrong")
    print("\n".join(problems) or "refused as they should be: " + ", ".join(f"{n} from {l}" for l, n in refused.items()))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
