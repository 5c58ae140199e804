#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nccl-env on a real control plane: etcd, kube-apiserver, kube-scheduler and kube-controller-manager on loopback,
our programs beside them with the manifests' arguments and their own service accounts' tokens.

  run.py BINARIES PROGRAMS [SCENARIO…]

BINARIES holds the control plane, PROGRAMS ours; a SCENARIO is a number. Prints each scenario with ok or FAILED and
its seconds, and each failure once more at the end; exit code 1 if one failed. What ran keeps its logs in build/e2e
until the next run."""
import argparse
import os
import pathlib
import shutil
import signal
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from cluster import SOURCE, Cluster  # noqa: E402
from scenarios import (asking, beforehand, chaos, churn, claims, container_start, cost, delivery, door, helm,  # noqa: E402
                       identity, largest, losses, monitoring, namespaces, quickstart, refresh, removal, restart,
                       sentences, strict, unresolved, ways, workloads)

LONG = [refresh] if os.environ.get("E2E_LONG") else []
SCENARIOS = [workloads, churn, restart, unresolved, strict, door, ways, identity, losses, chaos, cost, *LONG, largest,
             sentences, claims, container_start, delivery, namespaces, beforehand, asking, monitoring, quickstart,
             removal, helm]


def installed(cluster):
    """Nodes without agents' tables, then everything from the manifests, on a cluster that has nothing else."""
    for node in ("node-a", "node-b", "node-c"):
        cluster.plane.add_node(node, {"e2e": "rails"} if node != "node-c" else {})
    cluster.kubectl("apply", "-k", SOURCE / "manifests/overlays/default")
    cluster.check_overlays()
    cluster.install()
    cluster.start_webhooks()
    expect_unchanged(cluster.install())
    if not cluster.has_ca_bundles():
        raise SystemExit("applying the manifests again took caBundle away")
    cluster.install("--server-side", "--dry-run=server")  # without a conflict


def expect_unchanged(said):
    """The manifests again: what the webhook wrote stays, and what the API server adds is no difference. kubectl sends
    the selector of a budget whatever it is."""
    changed = [line for line in said.splitlines() if not line.endswith(" unchanged")]
    if changed != ["poddisruptionbudget.policy/nccl-env-webhook configured"]:
        raise SystemExit(f"applying the manifests again: {changed}")


def report(name, begin, outcome, figures=None):
    print(f"{name}{': ' + figures if figures else ''} … {outcome} ({time.monotonic() - begin:.1f} s)", flush=True)


def run_all(cluster, chosen):
    failed = []
    for scenario in chosen:
        begin = time.monotonic()
        try:
            figures = scenario.run(cluster)
        except Exception as error:  # the next scenario may still hold
            failed.append(f"failed: {scenario.NAME.split(':')[0]}: {error}")
            report(scenario.NAME, begin, "FAILED")
            for line in traceback.format_exception(error, limit=-3):
                print("    " + line.rstrip().replace("\n", "\n    "))
            continue
        report(scenario.NAME, begin, "ok", figures)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("scenario", nargs="*")
    options = parser.parse_args()
    chosen = [some for some in SCENARIOS if not options.scenario or some.NAME.split()[0] in options.scenario]
    unknown = set(options.scenario) - {some.NAME.split()[0] for some in SCENARIOS}
    if unknown:
        parser.error(f"no scenario {' '.join(sorted(unknown))}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing stays behind
    directory = SOURCE / "build/e2e"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    begin = time.monotonic()
    cluster = Cluster(options.binaries, options.programs, directory)
    try:
        report(f"control plane: Kubernetes {cluster.plane.version}", begin, "ok")
        begin = time.monotonic()
        installed(cluster)
        report("install: manifests/overlays/default on an empty cluster", begin, "ok")
        failed = run_all(cluster, chosen)
    finally:
        cluster.stop()
    for line in failed:
        print(" ".join(line.split())[:500])
    print(f"{len(chosen) - len(failed)} of {len(chosen)} scenarios ok")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
