# SPDX-License-Identifier: Apache-2.0
"""The pods of scripts/demo, and what each must end up with."""
import copy
import dataclasses
import pathlib

import yaml

from demo_cluster import recorded

WORKLOADS = pathlib.Path(__file__).parent.parent / "tests/data/workloads"

NODES = {  # node: the listing that its table is imported from
    "baidu-node": "baidu-roce-a100.show_gids.txt",
    "erdma-node": "alibaba-erdma.ibv_devinfo.txt",
    "ib-node": "azure-ib-h200.ibv_devinfo.txt",
}
NAMESPACES = {  # namespace: its policy; None: no label
    "baidu": "baidu-roce",
    "erdma": "alibaba-erdma",
    "azure": "azure-infiniband",
    "generic": "generic-rdma",
    "sockets": "sockets",
    "elsewhere": None,
    **{f"by-{carrier}": f"by-{carrier}" for carrier in ("envfile", "file")},
}
CARRIERS = ("EnvFile", "File")
SOCKETS = {  # a policy for pods without RDMA, if they ask for it
    "apiVersion": "nccl-env.io/v1alpha1", "kind": "NcclPolicy", "metadata": {"name": "sockets"},
    "spec": {"match": {"resources": [{"name": "rdma/*"}]}, "hca": "Omit", "gidIndex": "Omit",
             "socketInterface": "eth0"}}
# Captures in tests/data of what pods show inside.
SUB_NICS, MACVLAN = "pods/baidu-sub-nics.show_gids.txt", "tables/macvlan-pod.show_gids.txt"

RAILS = "mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8"
CONSTANTS = {"NCCL_IB_TIMEOUT": "22", "NCCL_IB_QPS_PER_CONNECTION": "8"}
BAIDU = CONSTANTS | {"NCCL_SOCKET_IFNAME": "eth0"}
ERDMA = {"NCCL_NET_GDR_LEVEL": "1", "NCCL_P2P_LEVEL": "5", "NCCL_SOCKET_IFNAME": "eth0"}
AZURE = {"NCCL_IB_PCI_RELAXED_ORDERING": "1", "NCCL_IB_QPS_PER_CONNECTION": "4", "NCCL_SOCKET_IFNAME": "eth0"}


@dataclasses.dataclass
class Case:
    title: str
    namespace: str
    node: str
    review: dict  # of the pod's creation
    env: dict  # what NCCL finds in the end: the container's environment, and the file that a Binding brings
    omitted: dict = dataclasses.field(default_factory=dict)  # variable: reason
    skip: str = ""  # the reason why the pod isn't touched
    binding: str = "binding-plain"  # the recorded request that binds it; "": created with its node name
    node_omits: dict = dataclasses.field(default_factory=dict)  # what the node can't give
    pod: str = ""  # what the pod shows inside, where an init container looks there
    file: dict = dataclasses.field(default_factory=dict)  # what that container writes
    warnings: tuple = ()  # words of what its creator is told


def found(hcas):
    """Values that the init container finds in both pods: their rows 0 to 3 are the node's."""
    return {"NCCL_IB_GID_INDEX": "7", "NCCL_IB_HCA": hcas, "NCCL_SOCKET_IFNAME": "eth0"}


def creation(name, namespace, resource="rdma/hca", env=(), host_network=False, labels=()):
    """A recorded request, changed in names and resources, and in what its user writes."""
    review = recorded(f"pod-create-{name}")
    pod = review["request"]["object"]
    review["request"]["namespace"] = pod["metadata"]["namespace"] = namespace
    pod["metadata"]["labels"] = pod["metadata"].get("labels", {}) | dict(labels)
    container = pod["spec"]["containers"][0]
    container["resources"] = {"limits": {resource: "1"}, "requests": {resource: "1"}} if resource else {}
    if env:
        container["env"] = [{"name": key, "value": value} for key, value in env]
    if host_network:
        pod["spec"]["hostNetwork"] = True
    return review


def copied(case, pod):
    """The pod that `kubectl get -o yaml`, then `apply` elsewhere, makes of a bound one."""
    review = copy.deepcopy(case.review)
    metadata = {key: pod["metadata"][key] for key in ("name", "annotations")} | {"namespace": case.namespace}
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    review["request"]["object"] = copy.deepcopy(pod) | {"metadata": metadata, "spec": copy.deepcopy(spec)}
    return review


def recorded_cases():
    baidu = ("baidu", "baidu-node")
    nodename = creation("plain", "baidu", host_network=True)
    nodename["request"]["object"]["spec"]["nodeName"] = "baidu-node"
    return [
        Case("host network", *baidu,
             creation("plain", "baidu", host_network=True),
             {"NCCL_IB_HCA": RAILS, "NCCL_IB_GID_INDEX": "3", **BAIDU}),
        Case("own network, own rows of GIDs: an init container looks", *baidu,
             creation("deployment", "baidu"), BAIDU, binding="binding-deployment", pod=SUB_NICS, file=found(RAILS)),
        Case("the same without that init container", *baidu,
             creation("deployment", "baidu", labels={"nccl-env.io/resolve": "Binding"}),
             {"NCCL_IB_HCA": "=" + RAILS, **BAIDU}, {"NCCL_IB_GID_INDEX": "PodGidUnknown"}, binding="binding-deployment"),
        Case("created with spec.nodeName", *baidu, nodename,
             {"NCCL_IB_HCA": RAILS, "NCCL_IB_GID_INDEX": "3", **BAIDU}, binding=""),
        Case("InfiniBand, bound through the older bindings endpoint", "azure", "ib-node",
             creation("statefulset", "azure", "rdma/ib", host_network=True),
             {"NCCL_IB_HCA": "mlx5_ib0,mlx5_ib1,mlx5_ib2,mlx5_ib3,mlx5_ib4,mlx5_ib5,mlx5_ib6,mlx5_ib7",
              **AZURE},
             {"NCCL_IB_GID_INDEX": "InfiniBand"}, binding="binding-legacy-bindings-endpoint"),
        Case("its user sets the GID index", *baidu,
             creation("plain", "baidu", env=[("NCCL_IB_GID_INDEX", "5")], host_network=True),
             {"NCCL_IB_GID_INDEX": "5", "NCCL_IB_HCA": RAILS, **BAIDU},
             {"NCCL_IB_GID_INDEX": "UserSet", "NCCL_IB_ADDR_FAMILY": "UserSetGroup"}),
        Case("its user sets the HCAs, with which goes no index of ours", *baidu,
             creation("plain", "baidu", env=[("NCCL_IB_HCA", "mlx5_1")], host_network=True),
             {"NCCL_IB_HCA": "mlx5_1", **BAIDU},
             {"NCCL_IB_HCA": "UserSet", "NCCL_IB_GID_INDEX": "UserSetGroup", "NCCL_IB_ADDR_FAMILY": "UserSetGroup"}),
        Case("its user sets one of the policy's constants", *baidu,
             creation("statefulset", "baidu", host_network=True,
                      env=[("TRIES", "20"), ("NCCL_IB_TIMEOUT", "$(TRIES)"), ("NCCL_DEBUG", "INFO")]),
             {"TRIES": "20", "NCCL_DEBUG": "INFO", "NCCL_IB_HCA": RAILS, "NCCL_IB_GID_INDEX": "3",
              **BAIDU, "NCCL_IB_TIMEOUT": "20"},
             {"NCCL_IB_TIMEOUT": "UserSet"}),
        Case("its user turns RDMA off", *baidu,
             creation("plain", "baidu", env=[("NCCL_IB_DISABLE", "1")], host_network=True),
             {"NCCL_IB_DISABLE": "1", "NCCL_SOCKET_IFNAME": "eth0"},
             dict.fromkeys(("NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_TIMEOUT",
                            "NCCL_IB_QPS_PER_CONNECTION"), "DisabledByUser")),
        Case("opted out by a label", *baidu, creation("job-indexed", "baidu", labels={"nccl-env.io/inject": "false"}),
             {"JOB_COMPLETION_INDEX": "0"}, skip="OptedOut", binding="binding-job-indexed"),
        Case("asks for no RDMA", *baidu, creation("daemonset", "baidu", "", env=[("NCCL_DEBUG", "INFO")]),
             {"NCCL_DEBUG": "INFO"}, skip="NotRdma", binding="binding-daemonset"),
        Case("in a namespace that did not opt in", "elsewhere", "baidu-node", creation("plain", "elsewhere"), {},
             skip="NamespaceNotOptedIn"),
    ]


def carrier_cases():
    """The first pod under each delivery."""
    values = {"EnvFile": {"NCCL_IB_HCA": RAILS, "NCCL_IB_GID_INDEX": "3"},
              "File": {"NCCL_IB_HCA": "=" + RAILS, "NCCL_IB_GID_INDEX": "3"}}
    return [Case(f"host network, delivered by {carrier}", f"by-{carrier.lower()}", "baidu-node",
                 creation("plain", f"by-{carrier.lower()}", host_network=True), values[carrier] | BAIDU)
            for carrier in CARRIERS]


def copied_case(first, pod):
    """Bound to a node without a table, so that nothing of the old node can be overwritten by chance."""
    return Case("a copy of the first one, on a node without a table", "baidu", "new-node",
                copied(first, pod), BAIDU,
                node_omits={"NCCL_IB_HCA": "NoTable", "NCCL_IB_GID_INDEX": "NoTable"})


def workload(name, namespace, node, expected, **changes):
    """One case for each replica type; expected: the arguments of Case from env on, by replica type. `changes` are made
    to each pod's spec and annotations."""
    job = yaml.safe_load((WORKLOADS / f"{name}.yaml").read_text())
    replicas = next(value for key, value in job["spec"].items() if key.endswith("ReplicaSpecs"))
    cases = []
    for role, replica in replicas.items():
        template = copy.deepcopy(replica["template"])  # YAML's aliases would make one object of several
        for container in template["spec"]["containers"]:  # quantities are text, and requests follow the limits
            limits = {key: str(value) for key, value in container.get("resources", {}).get("limits", {}).items()}
            container["resources"] = {"limits": limits, "requests": dict(limits)}
        review = recorded("pod-create-deployment")
        review["request"]["namespace"] = namespace
        metadata = {"generateName": f"{job['metadata']['name']}-{role.lower()}-", "namespace": namespace}
        metadata |= template.get("metadata", {})
        metadata["annotations"] = metadata.get("annotations", {}) | changes.get("annotations", {})
        review["request"]["object"] = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata,
                                       "spec": template["spec"] | changes.get("spec", {})}
        host = " on the host network" if changes.get("spec") else ""
        cases.append(Case(f"{name}: {role}{host}, {NAMESPACES[namespace]}", namespace, node, review, **expected[role]))
    return cases


def workload_cases():
    """Workloads with the values that the head of each file states."""
    users = {"NCCL_DEBUG": "INFO", "NCCL_IB_DISABLE": "0"}
    baidu = {"env": users | BAIDU, "pod": SUB_NICS, "file": found(RAILS)}
    on_host = {"env": users | {"NCCL_IB_HCA": RAILS, "NCCL_IB_GID_INDEX": "3", **BAIDU}}
    not_rdma = {"env": {}, "skip": "NotRdma"}
    sockets = {"env": {"NCCL_SOCKET_IFNAME": "eth0"},
               "omitted": {"NCCL_IB_HCA": "OmittedByPolicy", "NCCL_IB_GID_INDEX": "OmittedByPolicy"}}
    index = {"omitted": {"NCCL_IB_GID_INDEX": "OmittedByPolicy"}}
    pytorch = {"env": {"NCCL_DEBUG": "INFO", "NCCL_ALGO": "Ring", "NCCL_IB_HCA": "rocep26s0", **ERDMA}} | index
    tensorflow = {"env": {"NCCL_IB_HCA": "rocep26s0", **ERDMA}} | index
    file = {key: value for key, value in found("mlx5_0,mlx5_1").items() if key != "NCCL_SOCKET_IFNAME"}
    topology = {"env": {}, "pod": MACVLAN, "file": file, "omitted": {"NCCL_SOCKET_IFNAME": "OmittedByPolicy"}}
    launcher = not_rdma | {"warnings": ("gives ranks NCCL_SOCKET_IFNAME, which override",)}  # by mpirun -x
    return [
        *workload("baidu-pytorchjob", "baidu", "baidu-node", {"Master": baidu, "Worker": baidu}),
        *workload("baidu-pytorchjob", "baidu", "baidu-node", {"Master": on_host, "Worker": on_host},
                  spec={"hostNetwork": True}),
        *workload("erdma-pytorchjob", "erdma", "erdma-node", {"Master": pytorch, "Worker": pytorch}),
        *workload("erdma-tfjob", "erdma", "erdma-node", {"PS": tensorflow, "Worker": tensorflow}),
        *workload("topology-mpijob", "generic", "baidu-node", {"Launcher": not_rdma, "Worker": topology}),
        *workload("topology-mpijob", "baidu", "baidu-node", {"Launcher": launcher, "Worker": baidu | {"env": BAIDU}}),
        *workload("eni-mpijob", "generic", "erdma-node", {"Launcher": not_rdma, "Worker": not_rdma}),
        *workload("eni-mpijob", "sockets", "erdma-node", {"Launcher": sockets, "Worker": sockets},
                  annotations={"nccl-env.io/inject": "true"}),
    ]
