# SPDX-License-Identifier: Apache-2.0
"""Who may write a table, and that nobody changes a bound pod's values."""
from agents import write_sys
from api import Api, Refused, path_of
from objects import CONF, HCA, SPACES, annotations_of, expect, expect_in, hca_list, ours, pod, pod_spec, policy, table
from process import Failed, eventually

NAME = "5 identity: an agent writes its own node's table; a bound pod's values stay"


def refused(what, code, call, *parts):
    try:
        call()
    except Refused as error:
        expect(f"code of {what}", error.code, code)
        expect_in(what, error.message, *parts)
        return
    raise Failed(f"{what} was accepted")


def agents(cluster):
    """Pod of the DaemonSet by node, as its controller made and the scheduler bound them."""
    return {some["spec"]["nodeName"]: some["metadata"]["name"] for some in cluster.api.list("Pod", SPACES["agent"])
            if some["spec"].get("nodeName")}


def check_programs(cluster, pods):
    """The agent itself keeps its node's table, and with another node's token none."""
    api, sys = cluster.api, cluster.directory / "sys"
    for node in ("node-a", "node-b"):
        try:
            api.delete("NodeFabric", None, node)
        except Refused:
            pass  # no scenario before this one
    write_sys(sys, ["mlx5_1", "mlx5_2"], 3)
    agent = cluster.agent("node-a", pods["node-a"], "agent")
    thief = cluster.agent("node-b", pods["node-a"], "thief")
    try:
        eventually("the agent is ready", lambda: agent.ready_code() == 200)
        made = api.get("NodeFabric", None, "node-a")
        expect("its HCAs", [port["hca"] for port in made["observed"]["ports"]], ["mlx5_1", "mlx5_2"])
        expect("its owner", [(owner["kind"], owner["uid"]) for owner in made["metadata"]["ownerReferences"]],
               [("Node", api.get("Node", None, "node-a")["metadata"]["uid"])])
        expect_in("kubectl get nf", cluster.kubectl("get", "nf", "node-a"), "=mlx5_1,mlx5_2")
        rails = ["mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4"]
        cluster.follows("fixed", "node-a", "NCCL_IB_GID_INDEX", "3")
        write_sys(sys, rails, 3)
        cluster.follows("fixed", "node-a", HCA, hca_list(rails))
        cluster.plane.apiserver.end(limit=2)
        write_sys(sys, rails, 5)
        eventually("the agent meets no API server", lambda: "table not written" in agent.said())
        cluster.plane.apiserver.start()
        cluster.plane.wait_ready()
        # An address that moves to another index is not trusted for a day.
        cluster.follows("fixed", "node-a", "NCCL_IB_GID_INDEX", None)
        replica = next(iter(cluster.webhooks.replicas.values()))
        given = replica.binding_annotations("fixed", "node-a", cluster.authority())
        expect_in("why there is no index", given["nccl-env.io/node"], '"NCCL_IB_GID_INDEX":"GidUnstable"')
        eventually("a thief says why not", lambda: "may not write the NodeFabric of node-b" in thief.said())
        expect("readiness of a thief", thief.ready_code(), 503)
        if "node-b" in [some["metadata"]["name"] for some in api.list("NodeFabric")]:
            raise Failed("a table was written with another node's token")
    finally:
        codes = [agent.end(), thief.end()]
    expect("exit codes", codes, [0, 0])


def check_tokens(cluster, pods):
    plane = cluster.plane
    agent = plane.api.as_token(plane.token("nccl-env-agent", SPACES["agent"], pods["node-a"]))
    unbound = plane.api.as_token(plane.token("nccl-env-agent", SPACES["agent"]))
    own, other = table("node-a", ["mlx5_1", "mlx5_2"]), table("node-b", ["mlx5_1", "mlx5_2"])

    agent.apply(own, manager="nccl-env-agent")
    expect_in("its own table again", agent.get("NodeFabric", None, "node-a")["observed"]["agentVersion"], "e2e")
    refused("a finalizer of an agent's", 403, lambda: agent.apply(
        {**own, "metadata": {"name": "node-a", "finalizers": ["nccl-env.io/stay"]}}, manager="nccl-env-agent"),
        "may not add finalizers")
    refused("a foreign owner", 403, lambda: agent.apply(
        {**own, "metadata": {"name": "node-a", "ownerReferences": [
            {"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "1"}]}}, manager="nccl-env-agent"),
        "the only owner")
    plane.api.merge("NodeFabric", None, "node-a", {"metadata": {"finalizers": ["example.com/keep"]}})
    agent.apply(own, manager="nccl-env-agent")
    plane.api.merge("NodeFabric", None, "node-a", {"metadata": {"finalizers": None}})
    sentence = "the agent on node node-a may not write the NodeFabric of node-b"
    refused("another node's table, created", 403, lambda: agent.create(other), sentence)
    plane.api.apply(other)
    refused("another node's table, changed", 403, lambda: agent.apply(other, manager="nccl-env-agent"), sentence)
    refused("a token without a pod", 403, lambda: unbound.apply(own, manager="nccl-env-agent"), "bound to its pod")
    refused("deletion of another's table", 403, lambda: agent.delete("NodeFabric", None, "node-b"))
    refused("deletion of all tables", 403, lambda: agent.delete("NodeFabric"))
    refused("an agent reads secrets", 403, lambda: agent.list("Secret", SPACES["agent"]))
    agent.get("Node", None, "node-a")
    refused("an agent lists pods", 403, lambda: agent.list("Pod"))


def check_webhook_rights(cluster):
    webhook = cluster.api.as_token(cluster.plane.token("nccl-env-webhook"))
    for kind in ("NcclPolicy", "NodeFabric", "Namespace"):
        webhook.list(kind)
    refused("the webhook lists secrets", 403, lambda: webhook.list("Secret", "nccl-env"))
    refused("the webhook creates a secret", 403,
            lambda: webhook.create({"apiVersion": "v1", "kind": "Secret",
                                    "metadata": {"namespace": "nccl-env", "name": "other"}}))
    refused("the webhook reads another secret", 403, lambda: webhook.get("Secret", "nccl-env", "other"))
    refused("the webhook reads secrets elsewhere", 403,
            lambda: webhook.get("Secret", "default", "nccl-env-webhook-tls"))
    refused("the webhook writes tables", 403, lambda: webhook.create(table("node-z", ["mlx5_1"])))
    refused("the webhook changes hooks of others", 403,
            lambda: webhook.merge("MutatingWebhookConfiguration", None, "other", {"metadata": {"labels": {"a": "b"}}}))


def check_profile(cluster):
    """The webhook's pods do with the strictest profile, also with its newest form; what asks for more is refused."""
    cluster.plane.add_namespace("restricted", {"pod-security.kubernetes.io/enforce": "restricted"})
    spec = cluster.api.get("Deployment", SPACES["webhook"], "nccl-env-webhook")["spec"]["template"]["spec"]
    spec.pop("serviceAccountName"), spec.pop("serviceAccount", None)
    for space in ("restricted", SPACES["webhook"]):
        some = {"apiVersion": "v1", "kind": "Pod", "spec": spec, "metadata": {"namespace": space, "name": "webhook"}}
        cluster.api.create(some, "?dryRun=All")
    spec["hostNetwork"] = True
    refused("a webhook on the host's network", 403, lambda: cluster.api.create(some, "?dryRun=All"), "violates PodSecurity")


def check_refusals(cluster, kubelet):
    """A user's edits of a bound pod's annotations."""
    api = cluster.api

    def patch(annotations, subresource=None, who=api):
        return lambda: who.merge("Pod", "fixed", "train", {"metadata": {"annotations": annotations}}, subresource)
    refused("another value", 403, patch({CONF: "NCCL_IB_HCA==mlx5_9\n"}), "hold the values of node node-a", "delete the pod")
    refused("a value removed", 403, patch({CONF: None}), "cannot be changed")
    refused("a value added", 403, patch({"host.nccl-env.io/ucx.conf": "UCX_IB_SL=1\n"}), "cannot be changed")
    refused("the status changed", 403, patch({"nccl-env.io/status": "{}"}), "cannot be changed")
    refused("the node changed", 403, patch({"nccl-env.io/node": "{}"}), "cannot be changed")
    refused("another value with the status", 403, patch({CONF: "NCCL_IB_HCA==mlx5_9\n"}, "status"), "cannot be changed")
    refused("another value by the kubelet", 403, patch({CONF: "NCCL_IB_HCA==mlx5_9\n"}, "status", kubelet), "cannot be changed")


def check_many_annotations(cluster, kubelet):
    """So many that CEL would give up before it finds ours."""
    api = cluster.api
    api.create(pod("fixed", "many", schedulerName="none"))
    api.merge("Pod", "fixed", "many", {"metadata": {"annotations": {f"x{number}": "" for number in range(30000)}}})
    api.bind("fixed", "many", "node-a")
    expect_in("its annotations", annotations_of(api.get("Pod", "fixed", "many")), CONF)
    for value in ("NCCL_IB_HCA==mlx5_9\n", None):
        refused(f"{value} among many annotations", 403, lambda: api.merge(
            "Pod", "fixed", "many", {"metadata": {"annotations": {CONF: value}}}), "cannot be changed")
    kubelet.merge("Pod", "fixed", "many", {"status": {"phase": "Running"}}, "status")


def check_allowed(cluster, kubelet):
    """What clusters do to bound pods, by everybody who does it."""
    api, before = cluster.api, ours(cluster.api.get("Pod", "fixed", "train"))
    api.merge("Pod", "fixed", "train", {"metadata": {"annotations": {"k8s.v1.cni.cncf.io/network-status": "[]"},
                                                     "labels": {"team": "a"}, "finalizers": ["e2e.nccl-env.io/hold"]}})
    kubelet.merge("Pod", "fixed", "train", {"status": {"phase": "Running", "podIP": "10.1.0.1"}}, "status")
    path = path_of("Pod", "fixed", "train", "ephemeralcontainers")
    api.request("PATCH", path, {"spec": {"ephemeralContainers": [{"name": "debug", "image": "example.com/debug:1"}]}},
                "application/strategic-merge-patch+json")
    api.merge("Pod", "fixed", "train", {"metadata": {"finalizers": None}})
    after = api.get("Pod", "fixed", "train")
    expect("annotations after allowed edits", ours(after), before)
    expect("phase", after["status"]["phase"], "Running")
    expect("ephemeral containers", len(after["spec"]["ephemeralContainers"]), 1)

    # A pod that is not bound yet may change, but for what its Binding will write.
    api.create(pod("fixed", "waiting", schedulingGates=[{"name": "e2e.nccl-env.io/hold"}]))
    refused("a value on a pending pod", 403, lambda: api.merge("Pod", "fixed", "waiting", {
        "metadata": {"annotations": {CONF: "NCCL_IB_HCA==mlx5_9\n"}}}), "written by the webhook when the pod is bound")
    refused("the status of a pending pod removed", 403, lambda: api.merge("Pod", "fixed", "waiting", {
        "metadata": {"annotations": {"nccl-env.io/status": None}}}), "cannot be changed")
    api.merge("Pod", "fixed", "waiting", {"metadata": {"annotations": {"team": "a"}}, "spec": {"schedulingGates": []}})
    api.delete("Pod", "fixed", "train")
    kubelet.delete("Pod", "fixed", "train", grace=0)
    eventually("the pod is gone", lambda: "train" not in [p["metadata"]["name"] for p in api.list("Pod", "fixed")])


def check_collection(cluster):
    """Garbage collection of bound pods."""
    api = cluster.api
    api.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "fixed", "name": "owner"},
                "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "owned"}},
                         "template": {"metadata": {"labels": {"app": "owned"}}, "spec": pod_spec(node="node-a")}}})

    def owned():
        return [some for some in api.list("Pod", "fixed", "?labelSelector=app%3Downed")]
    eventually("the Deployment's pods are bound", lambda: [p for p in owned() if CONF in annotations_of(p)][1:])
    api.delete("Deployment", "fixed", "owner")
    eventually("its pods are being deleted", lambda: all("deletionTimestamp" in p["metadata"] for p in owned()))


def run(cluster):
    nodes = {"node-a", "node-b", "node-c"}
    pods = eventually("an agent's pod on each node", lambda: nodes <= set(found := agents(cluster)) and found)
    cluster.put_policy(policy("fixed"))
    cluster.opt_in("fixed", "fixed")
    check_programs(cluster, pods)
    check_tokens(cluster, pods)
    check_webhook_rights(cluster)
    check_profile(cluster)
    cluster.follows("fixed", "node-a", HCA, hca_list(["mlx5_1", "mlx5_2"]))
    cluster.api.create(pod("fixed", "train", node="node-a"))
    cluster.bound("fixed", "train")
    plane = cluster.plane
    kubelet = Api(plane.port, plane.pki.ca, plane.pki.issue("node-a", "system:node:node-a", "system:nodes"))
    check_refusals(cluster, kubelet)
    check_many_annotations(cluster, kubelet)
    check_allowed(cluster, kubelet)
    check_collection(cluster)
    cluster.clear("fixed", "restricted")
