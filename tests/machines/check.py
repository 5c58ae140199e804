#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives each machine of tests/data/machines to the programs, as a copy of sysfs, and compares what they answer with what
its description expects: check.py BIN [NAME…]. With --keep DIR trees and tables stay there."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import tree

SOURCE = pathlib.Path(__file__).resolve().parents[2]
NOW = "2026-11-26T12:00:00Z"
# The host's network and devices: exposure Host, in which the node's own table counts.
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "rank"}, "spec": {
    "hostNetwork": True,
    "containers": [{"name": "rank", "image": "example.org/train", "resources": {"limits": {"nvidia.com/gpu": "1"}},
                    "volumeMounts": [{"name": "devices", "mountPath": "/dev/infiniband"}]}],
    "volumes": [{"name": "devices", "hostPath": {"path": "/dev/infiniband"}}]}}


def run(program, *arguments, codes=(0, 1)):
    done = subprocess.run([program, *arguments, "-o", "json"], capture_output=True, text=True, timeout=60)
    if done.returncode not in codes:
        raise RuntimeError(f"{program.name} {arguments[0]} ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def answers(programs, name, folder):
    """Yields what two commands tell of the same table: which one, values, omissions."""
    cli, path, policy = programs / "nccl-env", folder / name / "table.json", ("--policy", folder / "policy.yaml")
    said = run(cli, "nodes", name, path, *policy, "--at", NOW)["table"]
    yield "nodes", said["values"], said["omitted"]
    said = run(cli, "explain", "-f", folder / "pod.json", "--table", path, "--node", name, *policy, "--at", NOW)
    said = said["containers"][0]
    yield "explain", {entry["name"]: entry["value"] for entry in said["env"] + said["file"]["lines"]}, said["omitted"]


def without_cluster(cli, machine, folder):
    """Yields what a process on the machine itself gets: the same, in the plain form of the list where that is exact. A
    copy of sysfs does not tell which interface is the machine's own, so machines that need it are left out."""
    if machine.node or not machine.hcas:
        return
    command = [cli, "env", "--sysfs", folder / machine.name / "sys", "-i", "--policy", folder / "policy.yaml"]
    if machine.by_plugin():
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if (done.returncode, done.stdout, "aws-ofi-nccl" in done.stderr) != (3, "", True):
            raise RuntimeError(f"env of {machine.name} ended with {done.returncode}: {done.stderr.strip()}")
        return
    said = run(*command)
    values = {name: value if value.startswith("=") else "=" + value if name == "NCCL_IB_HCA" else value
              for name, value in said["env"].items()}
    yield "env", values, said["omitted"]


def check(programs, machine, folder):
    """Yields each difference."""
    tree.build(machine, folder / machine.name / "sys")
    table = run(programs / "nccl-env-agent", "show", "--sysfs", folder / machine.name / "sys", "--node-name", machine.name,
                codes=(0, 3))  # 3: no device
    table["observed"]["time"] = NOW
    if machine.node:  # what netlink tells, and a copy of sysfs does not hold
        table["observed"]["nodeInterface"] = machine.node
    (folder / machine.name / "table.json").write_text(json.dumps(table))
    if not table["observed"]["ports"]:  # no device, and so nothing to choose from
        if machine.expected:
            yield "no port found"
        return
    expected = {"NCCL_SOCKET_IFNAME": "- NodeInterfaceUnknown", **machine.expected}
    cli = programs / "nccl-env"
    for command, values, omitted in [*answers(programs, machine.name, folder), *without_cluster(cli, machine, folder)]:
        reasons = {entry["name"]: "- " + entry["reason"] for entry in omitted}
        for variable, wanted in expected.items():
            found = values.get(variable, reasons.get(variable, "nothing"))
            if found != wanted:
                yield f"{command}: {variable} is {found}, expected {wanted}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    machines = [tree.Machine(path) for path in sorted((SOURCE / "tests/data/machines").glob("*.txt"))]
    machines = [machine for machine in machines if not arguments.names or machine.name in arguments.names]
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pod.json").write_text(json.dumps(POD))
        # generic-rdma, which infers the fabric; index and interface of the node, too.
        policy = (SOURCE / "policies/generic-rdma.yaml").read_text().replace("gidIndex: Auto ", "gidIndex: Pin ")
        (folder / "policy.yaml").write_text(policy.replace("socketInterface: Omit ", "socketInterface: FromNode "))
        programs = arguments.programs.resolve()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(lambda machine: list(check(programs, machine, folder)), machines))
    for machine, differences in zip(machines, found):
        print("".join(f"{machine.name}: {difference}\n" for difference in differences), end="")
    right = sum(not differences for differences in found)
    print(f"{right} of {len(machines)} machines as expected")
    return 0 if machines and right == len(machines) else 1


if __name__ == "__main__":
    sys.exit(main())
