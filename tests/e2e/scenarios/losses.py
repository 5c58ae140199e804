# SPDX-License-Identifier: Apache-2.0
"""What goes away under the programs comes back: a table, by whatever way it went, and the hooks' caBundle."""
import shutil
import time

from agents import write_sys
from api import Refused
from cluster import SOURCE
from objects import HCA, annotations_of, expect, given, hca_list, ours, pod, policy
from process import eventually
from scenarios.identity import agents

NAME = "22 losses: tables and caBundle that go away come back"
RAILS = ["mlx5_1", "mlx5_2"]
CRD = SOURCE / "manifests/base/crds/nodefabrics.yaml"


def table_of(cluster, node):
    try:
        return cluster.api.get("NodeFabric", None, node)
    except Refused:
        return None


def back(cluster, what, agent):
    """Seconds until the table of node-a is the agent's and its Node's own, and the agent says so."""
    begin = time.monotonic()
    uid = cluster.api.get("Node", None, "node-a")["metadata"]["uid"]

    def is_back():
        found = table_of(cluster, "node-a")
        return (found and [port["hca"] for port in found["observed"]["ports"]] == RAILS
                and [owner["uid"] for owner in found["metadata"]["ownerReferences"]] == [uid])
    eventually(f"the table is back: {what}", is_back)
    seconds = time.monotonic() - begin
    eventually("the agent is ready", lambda: agent.ready_code() == 200)
    cluster.follows("losses", "node-a", HCA, hca_list(RAILS))
    return f"{what} {seconds:.1f} s"


def node_again(cluster):
    cluster.api.delete("Node", None, "node-a")
    cluster.plane.add_node("node-a", {"e2e": "rails"})


def crd_again(cluster):
    cluster.kubectl("delete", "-f", CRD)
    cluster.kubectl("apply", "-f", CRD)


def edited(cluster):
    other = table_of(cluster, "node-a")["observed"]
    other["ports"][0]["hca"] = "mlx5_9"
    cluster.api.merge("NodeFabric", None, "node-a", {"observed": other})


def trusted_again(cluster, what):
    """Seconds until creates get values; each try is one more of the API server's handshakes."""
    begin, tries = time.monotonic(), 0

    def admitted():
        nonlocal tries
        tries += 1
        return ours(cluster.would_be(pod("losses", "probe")))
    eventually(f"pods are admitted: {what}", admitted)
    return f"{what} {time.monotonic() - begin:.1f} s ({tries - 1} creates without values)"


def without_bundle(cluster):
    hooks = cluster.api.get("MutatingWebhookConfiguration", None, "nccl-env")
    for hook in hooks["webhooks"]:
        hook["clientConfig"]["caBundle"] = None
    cluster.api.request("PUT", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/nccl-env", hooks)


def broken_glass(cluster):
    cluster.api.delete("MutatingWebhookConfiguration", None, "nccl-env")
    cluster.install()


def run(cluster):
    pods = eventually("an agent's pod on node-a", lambda: "node-a" in (found := agents(cluster)) and found)
    cluster.put_policy(policy("losses"))
    cluster.opt_in("losses", "losses")
    shutil.rmtree(cluster.directory / "sys", ignore_errors=True)  # the devices of other scenarios
    write_sys(cluster.directory / "sys", RAILS, 3)
    if table_of(cluster, "node-a"):
        cluster.api.delete("NodeFabric", None, "node-a")
    agent = cluster.agent("node-a", pods["node-a"], "keeper")
    figures = []
    try:
        back(cluster, "made", agent)
        for what, lose in (("deleted", lambda: cluster.api.delete("NodeFabric", None, "node-a")),
                           ("edited", lambda: edited(cluster)),
                           ("CRD made anew", lambda: crd_again(cluster)),
                           ("Node registered again", lambda: node_again(cluster))):
            lose()
            figures.append(back(cluster, what, agent))
        for what, lose in (("caBundle taken away", without_bundle), ("hooks deleted and made again", broken_glass)):
            lose(cluster)
            figures.append(trusted_again(cluster, what))
        cluster.api.create(pod("losses", "train", node="node-a"))
        expect("values", given(annotations_of(cluster.bound("losses", "train"))), hca_list(RAILS))
    finally:
        agent.end()
    cluster.clear("losses")
    return ", ".join(figures)
