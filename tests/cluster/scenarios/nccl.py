# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's unmodified library in pods: what it takes, beside what nccl-env says that it does."""
import json
import os
import pathlib
import re
import subprocess
import sys

from image import libraries
from process import Failed, eventually
from session import expect, pod

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "oracle"))
import wheels  # noqa: E402  # pylint: disable=wrong-import-position

NAME = "nccl: what the library has and takes in pods, by release, delivery and network"
IMAGE = "nccl-env.test/asker:1"
LOG = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,NET,BOOTSTRAP"}
# The first is the node's, the second each pod's own.
SOCKET = "=rail1,eth0"
CASES = {"nccl-file": ("Host", None), "nccl-look": ("SubInterface", None), "nccl-owned": ("PodOwned", None)}


def load_asker(session, library):
    """The image: a program, and the libraries that it and NCCL are linked with, of this Debian."""
    program = session.state / "asker"
    subprocess.run(["gcc", "-O1", "-Wall", "-Werror", "-o", program, HERE.parent / "asker.c", "-ldl"], check=True)
    session.load_image(IMAGE, files={"/bin/asker": program.read_bytes(), **libraries(program, library)})


def asker(namespace, version, host_network):
    name = f"nccl-{version.replace('.', '-')}-{'host' if host_network else 'own'}"
    folder = str(wheels.libnccl(version).parent)
    return pod(namespace, name, IMAGE, host_network, command=["/bin/asker", "/nccl/libnccl.so.2"],
               env=[{"name": key, "value": value} for key, value in LOG.items()],
               volumeMounts=[{"name": "nccl", "mountPath": "/nccl", "readOnly": True}],
               spec={"volumes": [{"name": "nccl", "hostPath": {"path": folder, "type": "Directory"}}]})


def answer(session, namespace, name):
    """The log of a process that has asked."""
    def look():
        log = session.kubectl("-n", namespace, "logs", name, "-c", "main")
        return log if re.search(r"^asked \d+$", log, re.M) else None
    return eventually(f"NCCL answers in {namespace}/{name}", look, limit=60, pause=0.3)


def told_values(told):
    """Names and values that explain says the process has, by env and by file."""
    some = next(one for one in told["containers"] if one["name"] == "main")
    lines = some["file"]["lines"] if some["file"] else []
    return {entry["name"]: entry["value"] for entry in lines + some["env"] if entry["value"]}


def check(session, namespace, version, host_network):
    """The process's variables after NCCL has read its files are those that explain tells; NCCL's interface is the first
    that the policy names and the process sees, as explain says; verify reads in the log that it is used."""
    manifest = asker(namespace, version, host_network)
    name = manifest["metadata"]["name"]
    session.run(manifest)
    log = answer(session, namespace, name)
    if not re.search(r"^asked 0$", log, re.M):
        raise Failed(f"{namespace}/{name}: {log}")
    has = dict(re.findall(r"^has (NCCL_\w+)=(.*)$", log, re.M))
    looks = CASES[namespace][0] != "Host" and not host_network  # and finds no device on this machine: NoList
    told = session.explained(namespace, name, code=int(looks), more=("--nccl-version", version))
    what = f"{namespace}/{name}"
    expect(f"{what}, what NCCL has", {key: value for key, value in has.items() if value}, told_values(told))
    taken = re.search(r"Bootstrap ?: Using ([^:\s]+):", log)[1]
    expect(f"{what}, NCCL's interface", taken, "rail1" if host_network else "eth0")
    if host_network:
        expect(f"{what}, explain's interface", told["ncclWithUs"]["interfaces"][:1], [taken])
    verified = json.loads(session.command("nccl-env", "verify", f"pod/{name}", "-n", namespace, "-o", "json"))
    verdicts = {value["name"]: value["verdict"] for value in verified["values"]}
    expect(f"{what}, verify", {key: verdicts[key] for key in verdicts if verdicts[key] != "not seen"},
           {"NCCL_SOCKET_IFNAME": "used"})
    return " ".join(f"{key}={value}" for key, value in sorted(has.items()) if key not in LOG), taken


def run(session):
    """CLUSTER_TABLE=1 prints what each process had."""
    load_asker(session, wheels.libnccl(wheels.NEWEST))
    rows = []
    for namespace, (exposure, delivery) in CASES.items():
        session.opt_in(namespace, exposure, socketInterface=SOCKET, **({"delivery": delivery} if delivery else {}))
        for version in wheels.WHEELS:
            for host_network in (True, False):
                has, taken = check(session, namespace, version, host_network)
                rows.append((version, exposure, "+".join(delivery or ["File"]), "node" if host_network else "own", taken, has))
    if os.environ.get("CLUSTER_TABLE"):
        for row in rows:
            print("| " + " | ".join(row) + " |")
    session.clear(*CASES)
    return f"{len(rows)} processes"
