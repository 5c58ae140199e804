# SPDX-License-Identifier: Apache-2.0
"""A namespace whose pods rather wait than start without values: both replicas go and come back beside a Job."""
import signal

from api import Refused
from objects import HCA, annotations_of, env_of, expect, expect_in, hca_list, ours, pod, policy, pod_spec, table
from process import Failed, eventually

NAME = "24 strict: without a webhook nothing of a strict namespace is created or bound, and a Job goes on by itself"
RAILS = ["mlx5_1", "mlx5_2"]
STRICT, LENIENT, PODS = "strict", "lenient", 20
GATE, FOREIGN = {"name": "e2e.nccl-env.io/hold"}, {"name": "e2e.nccl-env.io/other"}


def label(cluster, namespace, value):
    cluster.api.merge("Namespace", None, namespace, {"metadata": {"labels": {"nccl-env.io/strict": value}}})


def refusal(cluster, manifest):
    """Why a create would be refused now, "" if it would not."""
    try:
        cluster.would_be(manifest)
        return ""
    except Refused as refused:
        return refused.message


def job(namespace, name):
    spec = {"parallelism": PODS, "completions": PODS, "template": {"spec": pod_spec(restartPolicy="Never")}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": namespace, "name": name}, "spec": spec}


def of_job(cluster, namespace):
    return [some for some in cluster.api.list("Pod", namespace) if some["metadata"].get("ownerReferences")]


def check_called_once(cluster):
    """Two hooks for a create, and a pod meets one of them."""
    api, metric = cluster.api, cluster.webhooks.metric
    for namespace in (STRICT, LENIENT):
        before = metric("nccl_env_decisions_total", resource="pod")
        api.create(pod(namespace, "once", node="node-a", schedulingGates=[GATE, FOREIGN]))
        expect(f"reviews of a create in {namespace}", metric("nccl_env_decisions_total", resource="pod") - before, 1)
        found = api.get("Pod", namespace, "once")
        expect(f"gates of others in {namespace}", found["spec"]["schedulingGates"], [GATE, FOREIGN])
        expect_in(f"annotations in {namespace}", ours(found), "nccl-env.io/status")


def check_down(cluster):
    api = cluster.api
    eventually("creates need the webhook", lambda: refusal(cluster, pod(STRICT, "probe")))
    for manifest in (pod(STRICT, "probe"), pod(STRICT, "on-a-node", nodeName="node-a")):
        expect_in("the refusal", refusal(cluster, manifest), 'failed calling webhook "strict-pods.nccl-env.io"')
    out = pod(STRICT, "out", {"nccl-env.io/inject": "false"}, schedulerName="none")
    expect("a pod that opted out", refusal(cluster, out), "")
    api.create(pod(LENIENT, "probe", node="node-a"))
    expect("annotations where the namespace is not strict", ours(cluster.bound(LENIENT, "probe")), {})
    api.create(job(STRICT, "train"))
    eventually("an event says why the Job has no pods", lambda: [
        text for text in cluster.events(STRICT, "train") if "strict-pods.nccl-env.io" in text])
    expect("pods of the Job meanwhile", of_job(cluster, STRICT), [])
    # Admitted before: its Binding waits.
    api.merge("Pod", STRICT, "once", {"spec": {"schedulingGates": []}})
    eventually("an event says why the pod waits", lambda: [
        text for text in cluster.events(STRICT, "once") if "strict-binding.nccl-env.io" in text])
    if api.get("Pod", STRICT, "once")["spec"].get("nodeName"):
        raise Failed("the pod was bound although its namespace is strict")
    # Off again, as somebody would who cannot wait.
    label(cluster, "relaxed", None)
    eventually("creates pass without the label", lambda: not refusal(cluster, pod("relaxed", "probe")))


def check_back(cluster):
    """Every pod of the Job, by its controller alone, and none of them counted as failed."""
    def all_there():
        found = of_job(cluster, STRICT)
        return found if len(found) == PODS and all(some["spec"].get("nodeName") for some in found) else None
    for some in eventually("the Job's pods are there", all_there):
        if not annotations_of(some).get("nccl-env.io/status"):
            raise Failed(f"{some['metadata']['name']} has no values")
    expect("failed pods of the Job", cluster.api.get("Job", STRICT, "train")["status"].get("failed", 0), 0)
    expect("HCA list of the pod that waited", env_of(cluster.bound(STRICT, "once"))["NCCL_IB_HCA"], hca_list(RAILS))


def run(cluster):
    cluster.api.apply(table("node-a", RAILS))
    cluster.put_policy(policy("strict"))
    for namespace in (STRICT, "relaxed", LENIENT):
        cluster.opt_in(namespace, "strict")
        label(cluster, namespace, "false" if namespace == LENIENT else "true")
        cluster.follows(namespace, "node-a", HCA, hca_list(RAILS))
    check_called_once(cluster)
    for name in list(cluster.webhooks.replicas):
        cluster.webhooks.end(name, signal.SIGKILL)
    try:
        check_down(cluster)
    finally:
        for name in list(cluster.webhooks.replicas):
            cluster.webhooks.start(name)
    check_back(cluster)
    cluster.clear(STRICT, "relaxed", LENIENT)
