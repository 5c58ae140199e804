# SPDX-License-Identifier: Apache-2.0
"""Every kind of workload over two nodes with different tables."""
from api import Refused, Watch
from fleet import infiniband_node
from objects import (CONF, HCA, SPACES, annotations_of, env_of, expect, expect_in, hca_list, lines_of, ours, pod, pod_spec, policy,
                     table)
from process import Failed, eventually

NAME = "1 workloads: every pod carries its own node's values, in the write that binds it"
RAILS = {"node-a": (["mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4"], 3), "node-b": (["mlx5_0", "mlx5_5"], 5)}
COUNT = 6 + 4 + 3 + 2 + 2  # pods of the workloads below


def workloads(namespace):
    spec = {**pod_spec(), "nodeSelector": {"e2e": "rails"}}
    template = {"metadata": {"labels": {"app": "train"}}, "spec": spec}
    metadata = {"namespace": namespace, "name": "train"}
    selector = {"matchLabels": {"app": "train"}}
    yield {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
           "spec": {"replicas": 6, "selector": selector, "template": template}}
    yield {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata,
           "spec": {"parallelism": 4, "completions": 4, "completionMode": "Indexed",
                    "template": {"spec": {**spec, "restartPolicy": "Never"}}}}
    yield {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata,
           "spec": {"replicas": 3, "selector": selector, "template": template, "serviceName": "train",
                    "podManagementPolicy": "Parallel"}}
    yield {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata,
           "spec": {"selector": selector, "template": template}}
    yield pod(namespace, "bare-a", node="node-a")
    yield pod(namespace, "bare-b", node="node-b", env=[{"name": "NCCL_IB_TIMEOUT", "value": "20"},
                                                       {"name": "SAW", "value": "$(NCCL_IB_TIMEOUT)"}])


def check_writes(events):
    """The write that sets a pod's node carries the values of that node; none before it has any."""
    nodes = {}
    for kind, seen in events:
        name, node = seen["metadata"]["name"], seen["spec"].get("nodeName")
        if kind == "DELETED" or name in nodes:
            continue
        if node is None:
            if CONF in annotations_of(seen):
                raise Failed(f"{name} has node values and no node")
            continue
        nodes[name] = node
        hcas, index = RAILS[node]
        env = {key: value for key, value in env_of(seen).items() if value and key.startswith(("NCCL_", "SAW"))}
        user = {"NCCL_IB_TIMEOUT": "20", "SAW": "20"} if name == "bare-b" else {"NCCL_IB_TIMEOUT": "22"}
        expect(f"env of {name} on {node}", env, {"NCCL_IB_HCA": hca_list(hcas), "NCCL_IB_GID_INDEX": str(index),
                                                 "NCCL_SOCKET_IFNAME": "eth0", **user})
    return nodes


def check_untouched(cluster):
    api = cluster.api
    cluster.plane.add_namespace("plain")
    api.create(pod("train", "no-rdma", rdma=False, node="node-a"))
    api.create(pod("train", "opted-out", node="node-a", labels={"nccl-env.io/inject": "false"}))
    api.create(pod("plain", "elsewhere", node="node-a"))
    for namespace, name in (("train", "no-rdma"), ("train", "opted-out"), ("plain", "elsewhere")):
        bound = cluster.bound(namespace, name)
        expect(f"env of {name}", bound["spec"]["containers"][0].get("env", []), [])
        if "nccl-env.io/status" in annotations_of(bound):
            raise Failed(f"{name} has a status")
    asked = {(entry["namespace"], entry["pod"]) for replica in cluster.webhooks.replicas.values()
             for entry in replica.decisions() if entry["resource"] == "pod"}
    expect("pods that the webhook was not to be asked about", asked & {("train", "opted-out"), ("plain", "elsewhere")},
           set())
    expect("annotations in a namespace that has not opted in", ours(bound), {})
    for own in [some for space in SPACES.values() for some in api.list("Pod", space)]:
        expect("annotations of our own pods", ours(own), {})


# Constants that one policy has for the nodes of each of three fabrics.
FABRICS = {"fabric-v4": {"NCCL_IB_GID_INDEX": "3", "NCCL_IB_QPS_PER_CONNECTION": "8", "NCCL_IB_TC": "106"},
           "fabric-v6": {"NCCL_IB_GID_INDEX": "3", "NCCL_IB_ADDR_FAMILY": "AF_INET6",
                         "NCCL_IB_QPS_PER_CONNECTION": "8", "NCCL_IB_TC": "96"},
           "fabric-ib": {"NCCL_IB_QPS_PER_CONNECTION": "4"}}
VARIANTS = [{"when": {"linkLayer": "InfiniBand"}, "env": {"NCCL_IB_QPS_PER_CONNECTION": "4"}},
            {"when": {"boards": ["MT_0000001070"]}, "env": {"NCCL_IB_ADDR_FAMILY": "AF_INET6", "NCCL_IB_TC": "96"}},
            {"when": {"linkLayer": "Ethernet", "minRateGbps": 100},
             "env": {"NCCL_IB_QPS_PER_CONNECTION": "8", "NCCL_IB_TC": "106"}}]


def tables_of_fabrics():
    yield table("fabric-v4", ["mlx5_1", "mlx5_2"])
    sixth = table("fabric-v6", ["mlx5_1", "mlx5_2"])
    for number, port in enumerate(sixth["observed"]["ports"]):
        port["boardId"] = "MT_0000001070"
        port["gids"][1] = {"index": 3, "gid": f"fd02::{number + 1:x}", "type": "RoCEv2", "netdev": f"rail{number}"}
        sixth["observed"]["interfaces"][number]["addresses"] = [f"fd02::{number + 1:x}/64"]
    yield sixth
    infiniband = table("fabric-ib", [])
    infiniband["observed"]["ports"], infiniband["observed"]["interfaces"], _ = infiniband_node(1)
    yield infiniband


def check_fabrics(cluster):
    """One namespace, one policy: each pod has its own node's constants."""
    api = cluster.api
    for some in tables_of_fabrics():
        cluster.plane.add_node(some["metadata"]["name"])
        api.apply(some)
    wanted = policy("fabrics", env={}, variants=VARIANTS, delivery=["File"])
    cluster.put_policy(wanted)
    cluster.opt_in("fabrics", "fabrics")
    for node, env in FABRICS.items():
        cluster.follows("fabrics", node, "NCCL_IB_TC", env.get("NCCL_IB_TC"))
        api.create(pod("fabrics", node, node=node))
    for node, env in FABRICS.items():
        bound = cluster.bound("fabrics", node)
        seen = {key: value for key, value in env_of(bound).items() if key != "NCCL_IB_HCA"}
        expect(f"constants of the pod on {node}", seen, env)
        file = annotations_of(bound)["host.nccl-env.io/nccl.conf"]
        lines = {name: value for name, value in lines_of(file).items() if name != HCA}
        expect(f"lines of the pod's file on {node}", lines, env)
    edited = {**wanted, "spec": {**wanted["spec"], "variants": VARIANTS[1:]}}
    try:
        api.apply(edited)
        raise Failed("a variant was edited whose variable has to be equal on all ranks")
    except Refused as refusal:
        expect_in("the refusal", str(refusal), "variants with variables that must be equal on all ranks")
    try:
        api.merge("Pod", "fabrics", "fabric-ib",
                  {"metadata": {"annotations": {CONF: "NCCL_IB_TC=106\n"}}})
        raise Failed("a constant of a bound pod was changed")
    except Refused as refusal:
        expect_in("the refusal", str(refusal), "fabric-ib")
    cluster.clear("fabrics")
    for node in FABRICS:
        for kind in ("NodeFabric", "Node"):
            api.delete(kind, None, node)
    return len(FABRICS)


# Two shapes of one namespace: other rails, another interface. A third is of neither, a fourth has no known labels.
SHAPES = {"shape-a": ("gpu.8x", ["mlx5_1", "mlx5_2"], "bond0"), "shape-b": ("gpu.2x", ["mlx5_3", "mlx5_4"], "rail0"),
          "shape-c": ("cpu", ["mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4"], None), "shape-d": (None, None, None)}


def check_shapes(cluster):
    """One policy: each pod has the fabric and the interface of its node's shape, on either network."""
    api = cluster.api
    key = "node.kubernetes.io/instance-type"
    for node, (shape, _, _) in SHAPES.items():
        cluster.plane.add_node(node)
        some = table(node, [f"mlx5_{number}" for number in range(1, 5)])
        if shape:
            some["observed"]["nodeLabels"] = [{"key": key, "value": shape}]
        api.apply(some)
    variants = [{"when": {"nodeLabels": {key: glob}}, "fabric": {"hcas": [hcas]}, "socketInterface": interface}
                for glob, hcas, interface in (("gpu.8*", "mlx5_[12]", "bond0"), ("gpu.2*", "mlx5_[34]", "rail0"))]
    circle = {**variants[0], "when": {"linkLayer": "Ethernet"}}
    for wrong, part in ((circle, "may ask for nodeLabels only"), ({"when": variants[0]["when"]}, "at least one of")):
        try:
            api.apply(policy("circle", variants=[wrong]))
            raise Failed(f"the API server took a variant {wrong}")
        except Refused as refusal:
            expect_in("the refusal", str(refusal), part)
    cluster.put_policy(policy("shapes", env={}, fabric={"hcas": ["mlx5_[1-4]"]}, variants=variants))
    cluster.opt_in("shapes", "shapes")
    for node, (shape, hcas, _) in SHAPES.items():
        cluster.follows("shapes", node, HCA, hca_list(hcas) if hcas else None)
        for host_network in (False, True):
            name = f"{node}-{'host' if host_network else 'own'}"
            api.create(pod("shapes", name, node=node, hostNetwork=host_network))
    for node, (_, hcas, interface) in SHAPES.items():
        for network in ("own", "host"):
            bound = cluster.bound("shapes", f"{node}-{network}")
            seen = {key: value for key, value in env_of(bound).items() if value}
            wanted = {"NCCL_IB_HCA": hca_list(hcas), "NCCL_IB_GID_INDEX": "3"} if hcas else {}
            if interface:
                wanted["NCCL_SOCKET_IFNAME"] = interface
            expect(f"env of the pod on {node}, {network} network", seen, wanted)
    cluster.clear("shapes")
    for node in SHAPES:
        for kind in ("NodeFabric", "Node"):
            api.delete(kind, None, node)
    return len(SHAPES)


def run(cluster):
    api = cluster.api
    for node, (hcas, index) in RAILS.items():
        api.apply(table(node, hcas, index))
    cluster.put_policy(policy("rails", socketInterface="eth0"))
    cluster.opt_in("train", "rails")
    for node, (hcas, _) in RAILS.items():
        cluster.follows("train", node, HCA, hca_list(hcas))
    watch = Watch(api, "Pod", "train")
    for workload in workloads("train"):
        api.create(workload)

    def all_bound():
        found = [some for some in api.list("Pod", "train") if some["spec"].get("nodeName")]
        return found if len(found) == COUNT else None
    eventually(f"{COUNT} pods are bound", all_bound)
    eventually("the watch has seen them", lambda: len(check_writes(watch.events)) == COUNT)
    nodes = check_writes(watch.stop())
    expect("nodes with pods", set(nodes.values()), set(RAILS))
    check_untouched(cluster)
    cluster.clear("train", "plain")
    return (f"{COUNT} pods of 5 kinds, {check_fabrics(cluster)} fabrics and {check_shapes(cluster)} shapes under one "
            "policy each")
