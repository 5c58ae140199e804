# SPDX-License-Identifier: Apache-2.0
"""Namespaces with rules of their own: a pod that they take without us, they take with our init container."""
from api import Refused
from objects import expect, pod_spec, policy
from process import Failed, eventually

NAME = "17 namespaces: Pod Security, LimitRange, ResourceQuota, QoS classes, root pods, native sidecars"
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
BASELINE = {"pod-security.kubernetes.io/enforce": "baseline"}
CAREFUL = {"runAsNonRoot": True, "runAsUser": 1000, "allowPrivilegeEscalation": False,
           "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}}
SMALL = {"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "2Gi"}
RDMA = {"rdma/hca": "1"}


def spec(requests=None, limits=None, security=None, pod_security=None, inits=(), **more):
    made = pod_spec(**more)
    train = made["containers"][0]
    train["resources"] = {"requests": {**(requests or {}), **RDMA}, "limits": {**(limits or {}), **RDMA}}
    if security:
        train["securityContext"] = security
    if pod_security:
        made["securityContext"] = pod_security
    if inits:
        made["initContainers"] = list(inits)
    return made


def limits(kind, **more):
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits"},
            "spec": {"limits": [{"type": kind, **more}]}}


def quota(**hard):
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "quota"}, "spec": {"hard": hard}}


PROXY = {"name": "istio-proxy", "image": "example.com/proxy:1", "restartPolicy": "Always",
         "resources": {"requests": {"cpu": "10m", "memory": "40Mi"}, "limits": {"cpu": "2", "memory": "1Gi"}}}
# Name -> labels of the namespace, objects in it, the pod's spec, the QoS class that it has to keep
CASES = {
    "baseline": (BASELINE, [], spec(), "BestEffort"),
    "restricted": (RESTRICTED, [], spec(SMALL, SMALL, CAREFUL), "Guaranteed"),
    "restricted-pod-level": (RESTRICTED, [], spec(
        SMALL, SMALL, {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        {"runAsNonRoot": True, "runAsUser": 1000, "fsGroup": 2000, "seccompProfile": {"type": "RuntimeDefault"}}),
        "Guaranteed"),
    "minima": ({}, [limits("Container", min={"cpu": "250m", "memory": "512Mi", "ephemeral-storage": "1Gi"})],
               spec(SMALL, SMALL), "Guaranteed"),
    "maxima": ({}, [limits("Container", max={"cpu": "1", "memory": "2Gi"})], spec(SMALL, SMALL), "Guaranteed"),
    "ratio": ({}, [limits("Container", maxLimitRequestRatio={"cpu": "2"})],
              spec({"cpu": "500m"}, {"cpu": "1"}), "Burstable"),
    "defaults": ({}, [limits("Container", default={"cpu": "2", "memory": "2Gi"},
                             defaultRequest={"cpu": "1", "memory": "1Gi"})], spec(), "Burstable"),
    "quota-just-enough": ({}, [quota(**{"requests.cpu": "500m", "limits.cpu": "500m", "requests.memory": "1Gi",
                                        "limits.memory": "1Gi", "requests.ephemeral-storage": "2Gi",
                                        "limits.ephemeral-storage": "2Gi", "pods": "1"})],
                          spec(SMALL, SMALL), "Guaranteed"),
    "guaranteed": ({}, [], spec(SMALL, SMALL), "Guaranteed"),
    "burstable": ({}, [], spec({"cpu": "1"}), "Burstable"),
    "best-effort": ({}, [], spec(), "BestEffort"),
    "root": ({}, [], spec(pod_security={"runAsUser": 0, "runAsGroup": 0}), "BestEffort"),
    "any-user": ({}, [], spec(pod_security={"runAsUser": 12345, "fsGroup": 7}, restartPolicy="Never"), "BestEffort"),
    "sidecar": ({}, [], spec(SMALL, SMALL, inits=[PROXY]), "Burstable"),
}


def qos_alone(cluster, namespace, body):
    """The QoS class of the pod without anything of ours, None where the namespace does not take it. The API server
    follows new limits and quotas a moment later."""
    manifest = {"apiVersion": "v1", "kind": "Pod", "spec": body, "metadata": {
        "namespace": namespace, "name": "alone", "labels": {"nccl-env.io/inject": "false"}}}
    try:
        return cluster.api.create(manifest, "?dryRun=All")["status"]["qosClass"]
    except Refused:
        return None


def check(cluster, name, labels, objects, body, qos):
    namespace = f"ns-{name}"
    cluster.opt_in(namespace, "matrix")
    cluster.api.merge("Namespace", None, namespace, {"metadata": {"labels": labels}})
    for some in objects:
        plural = {"LimitRange": "limitranges", "ResourceQuota": "resourcequotas"}[some["kind"]]
        cluster.api.request("POST", f"/api/v1/namespaces/{namespace}/{plural}", some)
        if plural == "resourcequotas":
            eventually(f"the quota of {namespace} is counted", lambda: cluster.api.request(
                "GET", f"/api/v1/namespaces/{namespace}/{plural}/quota").get("status", {}).get("used"))
    eventually(f"{namespace} takes the pod alone, as {qos}", lambda: qos == qos_alone(cluster, namespace, body))
    made = cluster.api.create({"apiVersion": "v1", "kind": "Pod", "spec": body,
                               "metadata": {"namespace": namespace, "name": "train"}})
    names = [some["name"] for some in made["spec"].get("initContainers", [])]
    expect(f"our init container in {namespace}", names.count("nccl-env-resolve"), 1)
    expect(f"QoS class in {namespace}", made["status"]["qosClass"], qos)
    resolver = next(some for some in made["spec"]["initContainers"] if some["name"] == "nccl-env-resolve")
    user = resolver["securityContext"].get("runAsUser", made["spec"]["securityContext"].get("runAsUser"))
    if user == 0:
        raise Failed(f"the init container would run as root in {namespace}")


def run(cluster):
    cluster.put_policy(policy("matrix", match={"resources": [{"name": "rdma/hca*", "exposure": "SubInterface"}]}))
    failures = []
    for name, case in CASES.items():
        try:
            check(cluster, name, *case)
        except Failed as failure:  # each case for itself
            failures.append(f"{name}: {failure}")
    cluster.clear(*(f"ns-{name}" for name in CASES))
    if failures:
        raise Failed("; ".join(failures))
    return f"{len(CASES)} namespaces"
