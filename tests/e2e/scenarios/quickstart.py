# SPDX-License-Identifier: Apache-2.0
"""docs/start/quickstart.md in a cluster, block by block as they stand there, and those of
docs/operate/install.md that opt in.

What its agents would write is there beforehand, for no kubelet runs them; the hooks lead to this machine."""
import json
import os
import pathlib
import subprocess
import sys

from cluster import SOURCE
from objects import HCA, SPACES, annotations_of, arguments, env_of, expect, expect_in, hca_list, pod, table
from process import PATIENCE, Failed, eventually

sys.path.insert(0, str(SOURCE / "tests/docs"))
from blocks import blocks  # noqa: E402  # pylint: disable=wrong-import-position

NAME = "20 quickstart: the page's commands, from the install to the answer why"
NODES = ("node-a", "node-b", "node-c")
RAILS = [f"mlx5_{number}" for number in range(1, 9)]


def put_tables(cluster):
    """Three healthy nodes, each with addresses of its own."""
    for some in cluster.api.list("NodeFabric"):
        cluster.api.delete("NodeFabric", None, some["metadata"]["name"])
    for some in cluster.api.list("Node"):  # of other scenarios
        if some["metadata"]["name"] not in NODES:
            cluster.api.delete("Node", None, some["metadata"]["name"])
    for number, node in enumerate(NODES, 2):
        text = json.dumps(table(node, RAILS))
        for rail in range(len(RAILS)):
            text = text.replace(f"25.11.{rail}.2", f"25.11.{rail}.{number}")
        cluster.api.apply(json.loads(text))


class Reader:
    """Somebody who types what a page says, in a checkout."""

    def __init__(self, cluster):
        self.cluster, self.directory = cluster, cluster.directory / "quickstart"
        self.directory.mkdir()
        for folder in ("policies", "tests"):
            (self.directory / folder).symlink_to(SOURCE / folder)
        (self.directory / "manifests").symlink_to(cluster.directory / "manifests")
        plane = cluster.plane
        self.env = {**os.environ, "KUBECONFIG": str(plane.kubeconfig), "HOME": str(self.directory),
                    "PATH": f"{cluster.programs.resolve()}:{plane.kubectl_program.parent}:{os.environ['PATH']}"}

    def write(self, name, text):
        path = pathlib.Path(self.directory / name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace("overlays/default", "overlays/e2e-default"))

    def type(self, block, commands=None):
        done = subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", commands or block.text], cwd=self.directory,
                              env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE)
        if done.returncode:
            raise Failed(f"{block.place}: exit code {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout


def of_page(page):
    """Its files, and the blocks of commands that are run here."""
    found = blocks(page, (SOURCE / page).read_text())
    return ([block for block in found if block.mark == "file"],
            [block for block in found if block.level == "cluster" and block.scenario == "quickstart"])


def check_images(cluster):
    for kind, name in (("Deployment", "webhook"), ("DaemonSet", "agent")):
        spec = cluster.api.get(kind, SPACES[name], f"nccl-env-{name}")["spec"]["template"]["spec"]
        expect(f"image of the {name}", spec["containers"][0]["image"], f"registry.example/nccl-env-{name}:0.1.0")
        if name == "webhook":
            expect_in("arguments of the webhook", arguments(spec["containers"][0]),
                      "--resolver-image=registry.example/nccl-env-agent:0.1.0")


def check_answers(cluster, said):
    """What the steps printed, found by a word of their commands."""
    expect_in("kubectl get nodefabrics", said["kubectl get nodefabrics\n"], "node-a", "node-b", hca_list(RAILS))
    expect_in("nccl-env nodes, doctor", said["nccl-env doctor"], "mlx5_1-8", "healthy")
    first = cluster.bound("training", "first")
    expect("NCCL_IB_HCA of the first pod", env_of(first).get("NCCL_IB_HCA"), hca_list(RAILS))
    expect("NCCL_IB_GID_INDEX of the first pod, which NCCL finds", env_of(first).get("NCCL_IB_GID_INDEX"), None)
    expect_in("the answer why", said["explain pod/first"], '"nccl-env.io/status"', "generic-rdma",
              first["spec"]["nodeName"], "NCCL_IB_HCA ")


def steps_of_quickstart():
    """Its files, the steps in a cluster, and those in kind."""
    files, steps = of_page("docs/start/quickstart.md")
    first = next(number for number, block in enumerate(steps) if "apply -k kind" in block.text)
    return files, steps[:first], steps[first:]


def quickstart(cluster, reader):
    files, steps, _ = steps_of_quickstart()
    for block in files:
        reader.write(block.value, block.text)
    said = {}
    for block in steps:
        said[block.text] = reader.type(block)
        if "kubectl label namespace" in block.text:
            cluster.follows("training", "node-a", HCA, hca_list(RAILS))
        if "kubectl apply -f pod.yaml" in block.text:
            cluster.bound("training", "first")
    check_images(cluster)

    def answer(words):
        return next(printed for commands, printed in said.items() if words in commands)
    check_answers(cluster, {words: answer(words) for words in
                            ("kubectl get nodefabrics\n", "nccl-env doctor", "explain pod/first")})
    return len(steps)


def kind(cluster, reader):
    """A table from a listing, and a rail that goes missing. kind has one node."""
    _, _, (apply, pretend, opt_in, first, lose, second) = steps_of_quickstart()
    for other in NODES[1:]:
        cluster.api.merge("Node", None, other, {"spec": {"unschedulable": True}})
    reader.type(apply)
    cluster.api.delete("NodeFabric", None, NODES[0])  # kind's node has none
    expect_in("nccl-env nodes", reader.type(pretend), NODES[0], "mlx5_1-8")
    reader.type(opt_in)
    cluster.follows("team-a", NODES[0], HCA, hca_list(RAILS))
    expect_in("the first pod of kind", reader.type(first), "mlx5_1,mlx5_2", "NCCL_SOCKET_IFNAME          File    eth0")
    reader.type(lose)
    cluster.follows("team-a", NODES[0], HCA, None)
    expect_in("the second pod of kind", reader.type(second), "TooFewPorts", "7 fabric ports")
    for other in NODES[1:]:
        cluster.api.merge("Node", None, other, {"spec": {"unschedulable": None}})
    return 6


def install(cluster, reader):
    """docs/operate/install.md: opting in."""
    _, (opt_in,) = of_page("docs/operate/install.md")
    cluster.plane.add_namespace("ml")
    reader.type(opt_in)
    eventually("the pod is admitted", lambda: "nccl-env.io/status" in annotations_of(
        cluster.would_be(pod("ml", "probe", hostNetwork=True))))
    cluster.follows("ml", "node-a", HCA, hca_list(RAILS))
    cluster.api.create(pod("ml", "first", hostNetwork=True))
    cluster.bound("ml", "first")
    return 1


def troubleshooting(reader):
    """docs/use/troubleshooting.md: what was decided for the pod of the quickstart."""
    _, (decided,) = of_page("docs/use/troubleshooting.md")
    commands = decided.text.replace("NS", "training").replace("POD", "first")
    expect_in("what was decided", reader.type(decided, commands), '"nccl-env.io/node"', "generic-rdma",
              hca_list(RAILS[:5]))
    return 1


def operations(reader):
    """docs/operate/operations.md: the daily look."""
    _, (daily,) = of_page("docs/operate/operations.md")
    expect("what the doctor says", json.loads(reader.type(daily)), {"good": True, "errors": 0, "warnings": 0})
    return 1


def run(cluster):
    put_tables(cluster)
    reader = Reader(cluster)
    count = quickstart(cluster, reader) + troubleshooting(reader) + install(cluster, reader) + operations(reader)
    count += kind(cluster, reader)
    cluster.clear("training", "ml", "team-a")
    return f"{count} blocks of commands"
