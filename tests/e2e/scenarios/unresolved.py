# SPDX-License-Identifier: Apache-2.0
"""A node without a table, and no webhook at all."""
import json
import signal
import time

from objects import HCA, annotations_of, env_of, expect, expect_in, hca_list, ours, pod, policy, table
from process import Failed

NAME = "3 unresolved: Deny waits for the table, Allow says why not, and both outlive the webhook"
RAILS = ["mlx5_2", "mlx5_3"]


def bound_at_once(cluster, namespace, name):
    """The pod, bound by its first Binding."""
    bound = cluster.bound(namespace, name)
    # The scheduler tries again after a second at least, and by then it has said why.
    refusals = [text for text in cluster.events(namespace, name) if "nccl-env" in text]
    refusals += [entry for replica in cluster.webhooks.replicas.values() for entry in replica.decisions()
                 if (entry["namespace"], entry["pod"], entry["decision"]) == (namespace, name, "deny")]
    expect(f"refusals of {namespace}/{name}", refusals, [])
    return bound


def check_deny(cluster):
    api = cluster.api
    cluster.put_policy(policy("deny", onUnresolved="Deny"))
    cluster.opt_in("deny", "deny")
    expect_in("the event", cluster.held(pod("deny", "waits", node="node-c")), "node-c", "NoTable")
    begin = time.monotonic()
    api.create(pod("deny", "not-ours", rdma=False, node="node-c"))
    bound_at_once(cluster, "deny", "not-ours")
    other = time.monotonic() - begin
    if api.get("Pod", "deny", "waits")["spec"].get("nodeName"):
        raise Failed("the pod was bound to a node without a table")
    api.apply(table("node-c", RAILS))
    bound = cluster.bound("deny", "waits")
    expect("env after the table came", env_of(bound)["NCCL_IB_HCA"], hca_list(RAILS))
    api.delete("NodeFabric", None, "node-c")
    return other


def check_allow(cluster):
    api = cluster.api
    cluster.put_policy(policy("allow"))
    cluster.opt_in("allow", "allow")
    cluster.follows("allow", "node-a", HCA, hca_list(["mlx5_1", "mlx5_2"]))
    cluster.follows("allow", "node-c", HCA, None)
    before = cluster.webhooks.metric("nccl_env_variables_total", variable="NCCL_IB_HCA", reason="NoTable")
    api.create(pod("allow", "starts", node="node-c"))
    bound = bound_at_once(cluster, "allow", "starts")
    expect("HCA list on a node without a table", env_of(bound).get("NCCL_IB_HCA"), None)
    node = json.loads(annotations_of(bound)["nccl-env.io/node"])
    expect("node of the annotation", node["node"], "node-c")
    expect_in("the annotation's reasons", json.dumps(node["omitted"]), "NoTable")
    after = cluster.webhooks.metric("nccl_env_variables_total", variable="NCCL_IB_HCA", reason="NoTable")
    if after <= before:
        raise Failed(f"the metric of NoTable stayed at {before:g}")


def check_down(cluster):
    """failurePolicy Ignore lets pods pass; then replicas come back."""
    api = cluster.api
    for name in list(cluster.webhooks.replicas):
        cluster.webhooks.end(name, signal.SIGKILL)
    api.create(pod("allow", "ignored", node="node-a"))
    expect("our annotations without a webhook", ours(bound_at_once(cluster, "allow", "ignored")), {})
    for name in list(cluster.webhooks.replicas):
        cluster.webhooks.start(name)
    api.create(pod("allow", "again", node="node-a"))
    expect("env after recovery", env_of(cluster.bound("allow", "again"))["NCCL_IB_HCA"], hca_list(["mlx5_1", "mlx5_2"]))


def run(cluster):
    cluster.api.apply(table("node-a", ["mlx5_1", "mlx5_2"]))
    other = check_deny(cluster)
    check_allow(cluster)
    check_down(cluster)
    cluster.clear("deny", "allow")
    return f"a pod that is not ours was bound in {other:.1f} s"
