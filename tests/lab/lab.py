#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Runs the node agent against soft RDMA devices of a real kernel in QEMU: `make lab`, tests/lab/README.md.

  lab.py [--programs build/release/bin] [--keep DIR] [SCENARIO…]

Each scenario boots a guest of its own. Exit code 1 if any fails; with --keep, what the guests brought out."""
import argparse
import concurrent.futures
import functools
import importlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

import vm
import yaml
from kernel import Failed

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# The longest first.
SCENARIOS = ("events", "pod_netns", "rails", "cost", "drift", "table", "privileges", "edited_modules")
LIMIT_SECONDS = 7200  # for a guest that hangs; one beside ten other programs has taken twenty minutes


def libraries(program):
    """The shared libraries that a program needs, as this machine has them."""
    listing = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                             check=False).stdout  # fails for a static one
    return re.findall(r"(/\S+) \(0x", listing)


def fill(payload, scenario, program):
    tests = payload / "lab/tests"
    tests.mkdir(parents=True)
    (payload / "lab/scenario").write_text(scenario)
    if os.environ.get("LAB_LONG"):
        (payload / "lab/long").touch()
    shutil.copytree(HERE / "scenarios", tests / "scenarios", ignore=shutil.ignore_patterns("__pycache__"))
    for module in HERE.glob("*.py"):
        shutil.copy(module, tests)
    # Only PyYAML's Python part; the guest has no PyYAML.
    shutil.copytree(pathlib.Path(yaml.__file__).parent, tests / "yaml",
                    ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    (payload / "lab/bin").mkdir()
    shutil.copy(program, payload / "lab/bin")
    for library in libraries(program):
        target = payload / library.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)


def made(script, *arguments):
    """The folder that a script of the lab makes, and prints."""
    return pathlib.Path(subprocess.run([HERE / script, *arguments], stdout=subprocess.PIPE, text=True, check=True)
                        .stdout.strip())


@functools.cache
def image(kind):
    """The folder with kernel and initramfs, built if need be."""
    begin = time.monotonic()
    folder = made("image", *([made("modules")] if kind == "edited" else []))
    print(f"{kind + ' image':<20} {'ready':<7} {time.monotonic() - begin:6.1f} s  {folder}", flush=True)
    return folder


def run(name, programs, keep):
    """Prints the outcome; returns True if the scenario passed."""
    begin = time.monotonic()
    failure, figures = result(name, programs, keep)
    detail = f"\n{failure.strip()}".replace("\n", "\n  ") if failure else figures
    print(f"{name:<20} {'FAILED' if failure else 'ok':<7} {time.monotonic() - begin:6.1f} s  {detail}", flush=True)
    return not failure


def result(name, programs, keep):
    """Returns the failure, or "", and a line of figures."""
    scenario = importlib.import_module(f"scenarios.{name}")
    with tempfile.TemporaryDirectory(prefix="nccl-env-payload-") as payload:
        fill(pathlib.Path(payload), name, programs / "nccl-env-agent")
        outcome = vm.boot(image(scenario.IMAGE), pathlib.Path(payload), LIMIT_SECONDS)
    for file, text in {**outcome.results, "console": outcome.console}.items() if keep else ():
        path = keep / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if outcome.status != 0:
        return outcome.results.get("guest.error") or f"the guest did not finish:\n{outcome.console[-4000:]}", ""
    try:
        return "", scenario.check(outcome.results, programs)
    except Failed as failure:
        return str(failure), ""
    except Exception:  # results in no expected form; the other scenarios still run
        return traceback.format_exc(), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="default: all of " + " ".join(SCENARIOS))
    arguments = parser.parse_args()
    names = arguments.scenarios or SCENARIOS
    for name in names:
        image(importlib.import_module(f"scenarios.{name}").IMAGE)
    # Guests mostly wait, so two of them share the time and not the processors.
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        passed = list(pool.map(lambda name: run(name, arguments.programs, arguments.keep), names))
    failed = [name for name, ok in zip(names, passed) if not ok]
    sys.exit(f"failed: {' '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
