#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Runs the node agent against soft RDMA devices of a real kernel in QEMU: `make lab`, tests/lab/README.md.

  lab.py [--architecture amd64|arm64] [--programs DIR] [--keep DIR] [SCENARIO…]

Each scenario boots a guest of its own. Exit code 1 if any fails; with --keep, what the guests brought out."""
import argparse
import concurrent.futures
import functools
import importlib
import os
import pathlib
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
SCENARIOS = ("events", "pod_netns", "rails", "cost", "engines", "packets", "drift", "table", "privileges", "edited_modules")
FOREIGN_SCENARIOS = ("table",)  # of another architecture than this machine's; what others find does not depend on it
NATIVE = subprocess.run(["dpkg", "--print-architecture"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
LIMIT_SECONDS = 7200  # for a guest that hangs; one beside ten other programs has taken twenty minutes


@functools.cache
def agent(architecture, programs):
    """A folder with the agent and the libraries that it loads, as its image has them."""
    out = ROOT / "build/lab" / architecture
    enter = [] if architecture == NATIVE else [ROOT / "scripts/in-root", architecture]
    subprocess.run([*enter, ROOT / "images/collect", "agent", programs.resolve() / "nccl-env-agent", out], check=True)
    return out / "agent"


def unpack(packages, folder):
    """Debian's packages below `folder`: what one scenario needs, without the pages and plugins that it does not."""
    cache = pathlib.Path(os.environ.get("NCCL_ENV_LAB_CACHE") or pathlib.Path.home() / ".cache/nccl-env/lab") / "debs"
    if packages:
        subprocess.run([HERE / "packages", cache, *packages], check=True)
    for package in packages:
        archive, = cache.glob(f"{package}_*.deb")
        subprocess.run(["dpkg-deb", "-x", archive, folder], check=True)
    shutil.rmtree(folder / "usr/share/doc", ignore_errors=True)


def fill(payload, scenario, program):
    unpack(getattr(importlib.import_module(f"scenarios.{scenario}"), "PACKAGES", ()), payload)
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
    shutil.copytree(program / "program/usr/bin", payload / "lab/bin")
    shutil.copytree(program / "base/usr/lib", payload / "usr/lib", dirs_exist_ok=True)


def made(script, *arguments):
    """The folder that a script of the lab makes, and prints."""
    return pathlib.Path(subprocess.run([HERE / script, *arguments], stdout=subprocess.PIPE, text=True, check=True)
                        .stdout.strip())


@functools.cache
def image(architecture, kind):
    """The folder with kernel and initramfs, built if need be."""
    begin = time.monotonic()
    folder = made("image", architecture, *([made("modules")] if kind == "edited" else []))
    print(f"{kind + ' image':<20} {'ready':<7} {time.monotonic() - begin:6.1f} s  {folder}", flush=True)
    return folder


def run(name, arguments):
    """Prints the outcome; returns True if the scenario passed."""
    begin = time.monotonic()
    failure, figures = result(name, arguments)
    detail = f"\n{failure.strip()}".replace("\n", "\n  ") if failure else figures
    print(f"{name:<20} {'FAILED' if failure else 'ok':<7} {time.monotonic() - begin:6.1f} s  {detail}", flush=True)
    return not failure


def result(name, arguments):
    """Returns the failure, or "", and a line of figures."""
    scenario = importlib.import_module(f"scenarios.{name}")
    with tempfile.TemporaryDirectory(prefix="nccl-env-payload-") as payload:
        fill(pathlib.Path(payload), name, agent(arguments.architecture, arguments.programs))
        outcome = vm.boot(arguments.architecture, image(arguments.architecture, scenario.IMAGE), pathlib.Path(payload),
                          LIMIT_SECONDS)
    for file, text in {**outcome.results, "console": outcome.console}.items() if arguments.keep else ():
        path = arguments.keep / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if outcome.status != 0:
        return outcome.results.get("guest.error") or f"the guest did not finish:\n{outcome.console[-4000:]}", ""
    try:
        return "", scenario.check(outcome.results, arguments.programs)
    except Failed as failure:
        return str(failure), ""
    except Exception:  # results in no expected form; the other scenarios still run
        return traceback.format_exc(), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--architecture", choices=("amd64", "arm64"), default=NATIVE)
    parser.add_argument("--programs", type=pathlib.Path, help="default: build/release/bin or build/arm64/bin")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"default: {' '.join(SCENARIOS)}; of another "
                        f"architecture {' '.join(FOREIGN_SCENARIOS)}")
    arguments = parser.parse_args()
    native = arguments.architecture == NATIVE
    arguments.programs = arguments.programs or ROOT / "build" / ("release" if native else arguments.architecture) / "bin"
    names = arguments.scenarios or (SCENARIOS if native else FOREIGN_SCENARIOS)
    agent(arguments.architecture, arguments.programs)
    for name in names:
        image(arguments.architecture, importlib.import_module(f"scenarios.{name}").IMAGE)
    # Guests mostly wait, so two of them share the time and not the processors.
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        passed = list(pool.map(lambda name: run(name, arguments), names))
    failed = [name for name, ok in zip(names, passed) if not ok]
    sys.exit(f"failed: {' '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
