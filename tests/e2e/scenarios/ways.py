# SPDX-License-Identifier: Apache-2.0
"""The less common ways to a bound pod."""
import json
import time

from asker import Asker
from hook import Hook
from objects import HCA, annotations_of, env_of, expect, expect_in, hca_list, ours, pod, policy, table
from process import Failed, eventually
from scenarios.asking import without_webhooks

NAME = ("4 ways: legacy and annotated Bindings, a later webhook, dry run, spec.nodeName, scheduling gates, copies, "
        "a vast pod")
HOOK_SECONDS = {"pod": 5, "binding": 3}  # timeoutSeconds of the shipped hooks
RAILS, LATER = ["mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4"], ["mlx5_3", "mlx5_4"]
HOLD = [{"name": "e2e.nccl-env.io/hold"}]


def check_bindings(cluster):
    api = cluster.api
    for name, how in {"legacy": {"legacy": True}, "volcano": {"annotations": {
            "example.com/keep": "1", "host.nccl-env.io/nccl.conf": "NCCL_IB_HCA==stale\n",
            "subinterface.nccl-env.io/nccl.conf": "NCCL_IB_ADDR_RANGE=9.9.9.0/24\n"}}}.items():
        api.create(pod("ways", name, schedulerName="none"))
        api.bind("ways", name, "node-a", **how)
        bound = api.get("Pod", "ways", name)
        expect(f"HCA list after a Binding ({name})", env_of(bound)["NCCL_IB_HCA"], hca_list(RAILS))
    expect("the Binding's own annotation", annotations_of(bound).get("example.com/keep"), "1")
    if "9.9.9.0/24" in json.dumps(annotations_of(bound)):
        raise Failed("a value of another node travelled with the Binding")


def late_webhook(plane):
    """A mutating webhook after ours that adds the RDMA resource."""
    asked = {"limits": {"rdma/hca": "1"}, "requests": {"rdma/hca": "1"}}
    late = Hook(plane.pki, lambda _: [{"op": "add", "path": "/spec/containers/0/resources", "value": asked}])
    plane.api.create(late.configuration("zz-late", objectSelector={"matchLabels": {"late": "yes"}}))
    return late


def check_late_webhook(cluster):
    api, late = cluster.api, late_webhook(cluster.plane)
    try:
        eventually("the later webhook is called", lambda: cluster.would_be(
            pod("ways", "probe", labels={"late": "yes"}, rdma=False))["spec"]["containers"][0]["resources"])
        made = api.create(pod("ways", "late", labels={"late": "yes"}, rdma=False, node="node-a"))
        expect("what the later webhook added", made["spec"]["containers"][0]["resources"]["limits"], {"rdma/hca": "1"})
        expect("HCA list of a pod that a later webhook made ours", env_of(cluster.bound("ways", "late"))["NCCL_IB_HCA"],
               hca_list(RAILS))
    finally:
        api.delete("MutatingWebhookConfiguration", None, "zz-late")
        late.close()


def check_dry_run(cluster):
    counted = [cluster.webhooks.metric(f"nccl_env_{name}_total", resource="pod") for name in ("decisions", "dry_runs")]
    made = cluster.api.create(pod("ways", "dry", node="node-a"), "?dryRun=All")
    mounts = made["spec"]["containers"][0]["volumeMounts"]
    expect_in("files of a dry run", [mount["mountPath"] for mount in mounts], "/etc/nccl.conf")
    if "dry" in [some["metadata"]["name"] for some in cluster.api.list("Pod", "ways")]:
        raise Failed("a dry run left a pod")
    told = [entry for replica in cluster.webhooks.replicas.values() for entry in replica.decisions()
            if entry.get("pod") == "dry"]
    expect("levels of a dry run's lines in the log", [entry["level"] for entry in told], ["debug"])
    expect("decisions and dry runs that were counted",
           [cluster.webhooks.metric(f"nccl_env_{name}_total", resource="pod") for name in ("decisions", "dry_runs")],
           [counted[0], counted[1] + 1])


def check_node_name(cluster):
    """A pod that names its node is never bound: the values come at CREATE."""
    made = cluster.api.create(pod("ways", "placed", nodeName="node-a", annotations={"host.nccl-env.io/nccl.conf": "NCCL_IB_HCA==another-node\n"}))
    expect("HCA list of a placed pod", env_of(made)["NCCL_IB_HCA"], hca_list(RAILS))


def vast_pod(**labels):
    """As large as docs/reference/webhook.md lets a pod be that gets values: each container takes four operations of 1 000."""
    env = [{"name": f"VARIABLE_{number}", "value": "x" * 50} for number in range(16)]
    containers = [{"name": f"train-{number}", "image": "example.com/train:1", "env": env,
                   "resources": {"limits": {"rdma/hca": "1"}},
                   "volumeMounts": [{"name": f"volume-{(8 * number + mount) % 500}", "mountPath": f"/{mount}"}
                                    for mount in range(8)]} for number in range(249)]
    return pod("ways", "vast", {**{f"label-{number}": "x" for number in range(1000)}, **labels},
               {f"example.com/{number}": "x" * 20 for number in range(3000)}, schedulerName="none",
               containers=containers, volumes=[{"name": f"volume-{number}", "emptyDir": {}} for number in range(500)])


def check_vast_pod(cluster):
    """Created, bound and updated, each hook within its time; figures."""
    api, seconds = cluster.api, {}
    for what, labels in (("left alone", {"nccl-env.io/inject": "false"}), ("with values", {})):
        begin = time.monotonic()
        api.create(vast_pod(**labels), "?dryRun=All")
        seconds[what] = time.monotonic() - begin
    api.create(vast_pod())
    api.bind("ways", "vast", "node-a")
    bound = api.get("Pod", "ways", "vast")
    expect("HCA lists of a vast pod", {env_of(bound, number)["NCCL_IB_HCA"] for number in range(249)},
           {hca_list(RAILS)})
    expect("its own env", env_of(bound, 248)["VARIABLE_15"], "x" * 50)
    api.merge("Pod", "ways", "vast", {"metadata": {"labels": {"later": "yes"}}})
    took = {entry["resource"]: entry["micros"] / 1e6 for replica in cluster.webhooks.replicas.values()
            for entry in replica.decisions() if entry.get("pod") == "vast" and not entry["reason"]}
    if took["pod"] > HOOK_SECONDS["pod"] or took["binding"] > HOOK_SECONDS["binding"]:
        raise Failed(f"a vast pod took {took} s")
    return (f"a vast pod's review took {1000 * took['pod']:.0f} ms, its create {1000 * seconds['with values']:.0f} ms, "
            f"and left alone {1000 * seconds['left alone']:.0f} ms")


def check_gates(cluster):
    """Gated for an hour: the table that it meets is an hour old, and the policy another one."""
    api = cluster.api
    made = api.create(pod("ways", "gated", node="node-a", schedulingGates=HOLD))
    expect("annotations before the Binding", set(ours(made)), {"nccl-env.io/status"})
    before = json.loads(annotations_of(made)["nccl-env.io/status"])["generation"]
    api.apply(table("node-a", RAILS, seconds_ago=3600))
    generation = cluster.put_policy(policy("ways", fabric={"hcas": LATER}))
    cluster.follows("ways", "node-a", HCA, hca_list(LATER))
    api.merge("Pod", "ways", "gated", {"spec": {"schedulingGates": []}})
    bound = cluster.bound("ways", "gated")
    expect("HCA list under the policy of its Binding", env_of(bound)["NCCL_IB_HCA"], hca_list(LATER))
    node = json.loads(annotations_of(bound)["nccl-env.io/node"])
    expect("generations at CREATE and at Binding", [before, node["generation"]], [generation - 1, generation])


def copy_of(exported, namespace, name, annotations=None, labels=None):
    """What `kubectl get -o yaml` and `create` make of a bound pod, for a node without a table."""
    spec = {key: value for key, value in exported["spec"].items() if key != "nodeName"}
    spec["nodeSelector"] = {"kubernetes.io/hostname": "node-c"}
    return {"apiVersion": "v1", "kind": "Pod", "spec": spec,
            "metadata": {"namespace": namespace, "name": name, "labels": labels or {},
                         "annotations": {**annotations_of(exported), **(annotations or {})}}}


def waits_while(cluster, namespace, change, then=None, **spec):
    """A namespace with a pod that waits for values, whose policy gave all rails until `change`, and gives `then` now."""
    cluster.put_policy(policy(namespace, **spec))
    cluster.opt_in(namespace, namespace)
    cluster.follows(namespace, "node-a", HCA, hca_list(RAILS))
    cluster.api.create(pod(namespace, "waits", node="node-a", schedulingGates=HOLD))
    change()
    cluster.follows(namespace, "node-a", HCA, then and hca_list(then))


def check_right_behind(cluster):
    """Pods that come right behind their policy and their namespace."""
    names = [f"behind-{number}" for number in range(10)]
    for name in names:
        cluster.api.apply(policy(name))
        cluster.api.create({"apiVersion": "v1", "kind": "Namespace",
                            "metadata": {"name": name, "labels": {"nccl-env.io/policy": name}}})
        cluster.api.apply({"apiVersion": "v1", "kind": "ServiceAccount",  # without it pods are refused
                           "metadata": {"namespace": name, "name": "default"}})
        made = cluster.api.create(pod(name, "first", schedulerName="none"))
        expect_in(f"annotations of the first pod of {name}", annotations_of(made), "nccl-env.io/status")
    cluster.clear(*names)


def check_copies(cluster, ask):
    """A pod with another node's values has its own node's, or none, and explain says so."""
    api = cluster.api
    api.apply(table("node-a", RAILS))
    cluster.put_policy(policy("ways"))
    cluster.follows("ways", "node-a", HCA, hca_list(RAILS))
    api.create(pod("ways", "original", node="node-a"))
    exported = cluster.bound("ways", "original")
    expect("HCA list of the pod that is copied", env_of(exported)["NCCL_IB_HCA"], hca_list(RAILS))
    waits_while(cluster, "dry", lambda: cluster.put_policy(policy("dry", mode="DryRun")))
    waits_while(cluster, "gone", lambda: api.delete("NcclPolicy", None, "gone"))
    waits_while(cluster, "left", lambda: api.merge("Namespace", None, "left", {
        "metadata": {"labels": {"nccl-env.io/policy": None}}}))
    cluster.plane.add_namespace("outside", {})
    cases = {
        "given": (copy_of(exported, "ways", "enforced"), 1, "given, but no HCA list (NoTable)"),
        "DryRun": (copy_of(exported, "dry", "copy"), 0, "not injected, DryRun."),
        "PolicyMissing": (copy_of(exported, "gone", "copy"), 1, "not injected, PolicyMissing."),
        "opted out": (copy_of(exported, "ways", "out", {"nccl-env.io/inject": "false"}), 0, "not injected, OptedOut."),
        "opted out by a label": (copy_of(exported, "ways", "label", labels={"nccl-env.io/inject": "false"}), 0,
                                 "not injected, OptedOut."),
        "a promise of another policy's": (copy_of(exported, "dry", "forged", labels={"nccl-env.io/inject": "false"}), 0,
                                          "not injected, OptedOut."),
        "not opted in": (copy_of(exported, "outside", "copy"), 1, "foreign. Values that the pod reads are not its own"),
    }

    def told(what, namespace, name, code, sentence):
        bound = cluster.bound(namespace, name)
        foreign = code and "given" not in sentence and "not injected" not in sentence
        expect(f"HCA list ({what})", env_of(bound).get("NCCL_IB_HCA"), hca_list(RAILS) if foreign else None)
        expect_in(f"explain ({what})", " ".join(ask.told(code, "explain", f"pod/{name}", "-n", namespace).split()),
                  sentence, *(["take out all annotations"] if foreign else []))
    for what, (copy, code, sentence) in cases.items():
        api.create(copy)
        told(what, copy["metadata"]["namespace"], copy["metadata"]["name"], code, sentence)

    def created():
        api.create(copy_of(exported, "ways", "unseen"))
        cluster.bound("ways", "unseen")
        pending = copy_of(exported, "ways", "unseen-at-create")
        api.create({**pending, "spec": {**pending["spec"], "schedulingGates": HOLD}})
    without_webhooks(cluster, created)
    cluster.follows("ways", "node-a", HCA, hca_list(RAILS))
    told("no webhook", "ways", "unseen", 1, "they are node node-a's, and the pod is on node-c")
    named = ask.json(1, "doctor", "--pods", "-n", "ways")["pods"]
    expect("foreign pods of its namespace", sorted(some["pod"] for some in named if some["state"] == "foreign"),
           ["unseen", "unseen-at-create"])
    waiting = ask.told(1, "explain", "pod/unseen-at-create", "-n", "ways")
    expect_in("explain of a pending pod with values", " ".join(waiting.split()), "the pod has none yet")
    api.merge("Pod", "ways", "unseen-at-create", {"spec": {"schedulingGates": []}})
    told("no webhook at CREATE", "ways", "unseen-at-create", 1, "given, but no HCA list (NoTable)")


def check_between(cluster, ask):
    """The fate of a pod whose policy changed, went, came anew, or lost the namespace before its Binding."""
    api = cluster.api

    def released(namespace):
        api.merge("Pod", namespace, "waits", {"spec": {"schedulingGates": []}})
        return env_of(cluster.bound(namespace, "waits")).get("NCCL_IB_HCA")

    def come_anew():
        api.delete("NcclPolicy", None, "anew")
        cluster.put_policy(policy("anew", fabric={"hcas": LATER}))

    def moved():
        cluster.put_policy(policy("other", fabric={"hcas": LATER}))
        api.merge("Namespace", None, "moved", {"metadata": {"labels": {"nccl-env.io/policy": "other"}}})
    waits_while(cluster, "anew", come_anew, LATER)
    waits_while(cluster, "moved", moved, LATER)
    waits_while(cluster, "engine", lambda: cluster.put_policy(policy("engine", engines=["NCCL"])), RAILS, engines=["NCCL", "UCX"])
    for namespace, hcas, said in (("anew", LATER, ""), ("moved", LATER, "At Binding it was policy other"),
                                  ("engine", RAILS, "UCX_NET_DEVICES File (its Binding brought none)")):
        expect(f"HCA list of {namespace}", released(namespace), hca_list(hcas))
        expect(f"index of {namespace}", env_of(api.get("Pod", namespace, "waits")).get("NCCL_IB_GID_INDEX"), None)
        expect_in(f"explain of {namespace}", " ".join(ask.told(1, "explain", "pod/waits", "-n", namespace).split()),
                  "given, but changed since the pod was bound: NCCL_IB_GID_INDEX", "PolicyChanged", said)
    expect("HCA list, the policy now in DryRun", released("dry"), hca_list(RAILS))
    ask.told(0, "explain", "pod/waits", "-n", "dry")
    expect("HCA list, the policy gone", released("gone"), None)
    expect_in("explain", " ".join(ask.told(1, "explain", "pod/waits", "-n", "gone").split()),
              "missed at Binding, PolicyMissing.", "policy gone, by which it was created, was gone by then")
    expect("HCA list, the label gone", released("left"), None)
    expect_in("explain", " ".join(ask.told(1, "explain", "pod/waits", "-n", "left").split()),
              "its namespace has lost the label nccl-env.io/policy")


def run(cluster):
    ask = Asker(cluster, cluster.plane.kubeconfig)
    cluster.api.apply(table("node-a", RAILS))
    cluster.put_policy(policy("ways"))
    cluster.opt_in("ways", "ways")
    cluster.follows("ways", "node-a", HCA, hca_list(RAILS))
    check_bindings(cluster)
    check_late_webhook(cluster)
    check_dry_run(cluster)
    check_node_name(cluster)
    figures = check_vast_pod(cluster)
    check_gates(cluster)
    check_right_behind(cluster)
    check_copies(cluster, ask)
    check_between(cluster, ask)
    cluster.clear("ways", "dry", "gone", "left", "outside", "anew", "moved", "engine")
    return figures
