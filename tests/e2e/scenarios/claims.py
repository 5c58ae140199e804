# SPDX-License-Identifier: Apache-2.0
"""Devices by claim and by network instead of by resource, and what their creator is told."""
import json

from objects import HCA, annotations_of, env_of, expect, expect_in, hca_list, ours, pod, policy, table
from process import Failed, eventually

NAME = "13 claims: device claims, secondary networks, and warnings to who creates a pod"
CLASS = "mrdma.google.com"
RAILS = ["mlx5_1", "mlx5_2"]
MULTUS = "k8s.v1.cni.cncf.io/networks"


def template(name, device_class):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
            "metadata": {"namespace": "claims", "name": name},
            "spec": {"spec": {"devices": {"requests": [
                {"name": "nic", "exactly": {"deviceClassName": device_class}}]}}}}


def claiming(name, claim_template):
    made = pod("claims", name, rdma=False,
               resourceClaims=[{"name": "net", "resourceClaimTemplateName": claim_template}])
    made["spec"]["containers"][0]["resources"] = {"claims": [{"name": "net"}]}
    return made


def networked(name, networks):
    return pod("claims", name, rdma=False, node="node-a", annotations={MULTUS: networks})


def status_of(some):
    return json.loads(annotations_of(some).get("nccl-env.io/status", "{}"))


def env_names(some):
    return [entry["name"] for entry in some["spec"]["containers"][0].get("env") or []]


def told(cluster, manifest):
    """What kubectl tells who creates this."""
    code, said = cluster.kubectl("create", "-f", "-", check=False, stdin=json.dumps(manifest))
    if code:
        raise Failed(f"create {manifest['metadata']['name']}: {said}")
    return " ".join(said.split())


def check_claims(cluster):
    api = cluster.api
    unknown = told(cluster, claiming("early", "late"))
    expect_in("the warning of a pod before its template", unknown, "Warning:",
              "ResourceClaimTemplate claims/late does not exist. Nothing was injected.")
    expect("annotations of that pod", ours(api.get("Pod", "claims", "early")), {})
    api.create(template("late", CLASS))
    made = api.create(claiming("timely", "late"))
    expect("exposure of a pod with a claim", status_of(made).get("exposure"), "PodOwned")
    expect("env of a pod with a claim", env_names(made), ["NCCL_IB_TIMEOUT"])

    api.create(template("gpus", "gpu.nvidia.com"))
    expect("annotations of a pod with a claim of GPUs", ours(api.create(claiming("gpu", "gpus"))), {})
    api.create(template("efa", "efa.networking.k8s.aws"))
    before = cluster.webhooks.metric("nccl_env_decisions_total", resource="pod", reason="NotVerbs")
    expect("annotations of a pod with a claim of EFA", ours(api.create(claiming("efa", "efa"))), {})
    if cluster.webhooks.metric("nccl_env_decisions_total", resource="pod", reason="NotVerbs") != before + 1:
        raise Failed("the claim of EFA was not counted as NotVerbs")

    api.create({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
                "metadata": {"namespace": "claims", "name": "shared"}, "spec": template("x", CLASS)["spec"]["spec"]})
    shared = claiming("shared", "")
    shared["spec"]["resourceClaims"] = [{"name": "net", "resourceClaimName": "shared"}]
    expect("env of a pod with a claim of its own name", env_names(api.create(shared)), ["NCCL_IB_TIMEOUT"])


def check_replaced(cluster):
    """A template of the same name that asks for something else is believed within seconds."""
    api = cluster.api
    api.delete("ResourceClaimTemplate", "claims", "late")
    api.create(template("late", "gpu.nvidia.com"))
    eventually("the template's successor counts", lambda: not ours(cluster.would_be(claiming("probe", "late"))))


def check_networks(cluster):
    api = cluster.api
    api.apply(table("node-a", RAILS))
    cluster.follows("claims", "node-a", HCA, hca_list(RAILS))
    said = told(cluster, networked("macvlan", "rail-0,claims/rail-1@net2"))
    expect_in("the warnings of a pod with macvlans", said, "Warning: nccl-env: container train: mounts nothing at "
              "/dev/shm", "Warning: nccl-env: container train: has no capability IPC_LOCK")
    made = api.get("Pod", "claims", "macvlan")
    expect("exposure of a pod with macvlans", status_of(made)["exposure"], "SubInterface")
    expect_in("its values", json.dumps(status_of(made)), '"NCCL_IB_HCA": "File"')
    expect_in("its reasons", json.dumps(status_of(made)), "PodGidUnknown")
    bound = cluster.bound("claims", "macvlan")
    expect("its HCA list once it is bound", env_of(bound)["NCCL_IB_HCA"], hca_list(RAILS))
    owned = api.create(networked("vf", '[{"name": "vf-0", "namespace": "sriov"}]'))
    expect("exposure of a pod with a VF's network", status_of(owned)["exposure"], "PodOwned")
    expect("env of a pod with a VF's network", env_names(owned), ["NCCL_IB_TIMEOUT"])
    expect("a network that no entry names", ours(api.create(networked("storage", "storage"))), {})


def check_launcher(cluster):
    launcher = pod("claims", "launcher", rdma=False)
    launcher["spec"]["containers"][0]["command"] = ["sh", "-c", "mpirun -x NCCL_IB_HCA=mlx5_0 -x NCCL_DEBUG ./train"]
    said = told(cluster, launcher)
    expect_in("the warning of a launcher", said, "its command gives ranks NCCL_IB_HCA, which override what policy "
              "claims sets")
    made = cluster.api.get("Pod", "claims", "launcher")
    expect("status and env of a launcher", (status_of(made), env_names(made)), ({}, []))


def run(cluster):
    made = policy("claims", match={
        "resources": [{"name": "rdma/hca*", "exposure": "Host"}], "deviceClasses": [CLASS],
        "networks": [{"name": "*/rail-*", "exposure": "SubInterface"}, {"name": "sriov/*"}]})
    cluster.put_policy(made)
    cluster.opt_in("claims", "claims")
    cluster.api.merge("Namespace", None, "claims", {"metadata": {"labels": {"nccl-env.io/resolve": "Binding"}}})
    for _ in cluster.webhooks.replicas:  # whichever answers
        eventually("no init container", lambda: "initContainers" not in cluster.would_be(
            networked("probe", "rail-0,claims/rail-1@net2"))["spec"])
    check_claims(cluster)
    check_replaced(cluster)
    check_networks(cluster)
    check_launcher(cluster)
    cluster.clear("claims")
