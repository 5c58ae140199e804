# SPDX-License-Identifier: Apache-2.0
"""Pods that learn their values at their start: our init container, its file, and what it leaves alone."""
import json
import pathlib
import subprocess

from asker import Asker
from objects import (HCA, annotations_of, containers, env_of, expect, expect_in, hca_list, ours, pod, pod_spec, policy, reads_conf,
                     resolve_env, table)
from process import PATIENCE, Failed, eventually
from scenarios.delivery import make
from scenarios.ways import late_webhook

NAME = "15 container start: the init container once, after reinvocation and an update too; ephemeral containers untouched"
RESOLVER = "nccl-env-resolve"
NETWORKS = {"k8s.v1.cni.cncf.io/networks": "rdma/rail0,rdma/rail1"}


def deployment(namespace, name, labels=None, **spec):
    labels = {"app": name, **(labels or {})}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": namespace, "name": name},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": name}},
                     "strategy": {"rollingUpdate": {"maxSurge": 2}},  # no kubelet makes a pod ready
                     "template": {"metadata": {"labels": labels, "annotations": NETWORKS}, "spec": pod_spec(**spec)}}}


def pods_of(cluster, namespace, name, wanted, **attributes):
    """The Deployment's pods that are not on their way out, once there are so many with these attributes of the spec."""
    def look():
        found = [some for some in cluster.api.list("Pod", namespace, f"?labelSelector=app%3D{name}")
                 if "deletionTimestamp" not in some["metadata"]
                 and all(some["spec"].get(key) == value for key, value in attributes.items())]
        return found if len(found) == wanted else None
    return eventually(f"{wanted} pods of {namespace}/{name}", look)


def check_resolver(some):
    """One init container of ours, last of all, as the most careful admission wants it."""
    inits = [entry for entry in some["spec"].get("initContainers", []) if entry["name"].startswith("nccl-env-")]
    expect(f"our init containers of {some['metadata']['name']}", [entry["name"] for entry in inits], [RESOLVER])
    resolver = inits[0]
    expect("its token", [mount["name"].startswith("kube-api-access") for mount in resolver["volumeMounts"]],
           [False] * len(resolver["volumeMounts"]))
    security = resolver["securityContext"]
    expect("its rights", {key: security[key] for key in ("allowPrivilegeEscalation", "readOnlyRootFilesystem",
                                                         "runAsNonRoot")},
           {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "runAsNonRoot": True})
    expect("its capabilities", security["capabilities"], {"drop": ["ALL"]})
    return resolver


def check_pod(some):
    resolver = check_resolver(some)
    train = containers(some)["train"]
    expect("constants in env", {key: value for key, value in resolve_env(some, train).items() if key.startswith("NCCL_")},
           {"NCCL_IB_TIMEOUT": "22"})
    expect("a mount of nccl.conf", reads_conf(train), True)
    return resolver


def run_resolver(cluster, resolver):
    """The real program with the container's own arguments and environment: it takes the policy, and writes a file."""
    out, message = cluster.directory / "nccl.conf", cluster.directory / "termination-log"
    out.unlink(missing_ok=True)
    message.write_text("")
    arguments = [str(out) if argument.endswith("/nccl.conf") else argument for argument in resolver["args"]]
    env = {entry["name"]: entry["value"].replace("$$", "$") for entry in resolver["env"]}
    done = subprocess.run([cluster.programs / "nccl-env-agent", *arguments, "--termination-log", message], env=env,
                          capture_output=True, text=True, check=False, timeout=PATIENCE)
    if done.returncode or "PolicyInvalid" in done.stdout or not pathlib.Path(out).exists():
        raise Failed(f"the resolver: exit {done.returncode}: {done.stdout}{done.stderr}")
    return message.read_text()


def check_deployment(cluster):
    api = cluster.api
    api.create(deployment("start", "train"))
    for some in pods_of(cluster, "start", "train", 2):
        resolver = check_pod(some)
        if not some["spec"].get("nodeName"):  # the scheduler may have been faster
            expect("annotations before a node is known", set(ours(some)), {"nccl-env.io/status"})
    run_resolver(cluster, resolver)
    api.merge("Deployment", "start", "train", {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 7}}}})
    for some in pods_of(cluster, "start", "train", 2, terminationGracePeriodSeconds=7):
        check_pod(some)
    return some


def check_copy(cluster, original):
    """A pod made of a running one's manifest, as `kubectl get -o yaml | kubectl apply` makes it."""
    metadata = {"namespace": "start", "name": "copied", "annotations": {**annotations_of(original),
                "subinterface.nccl-env.io/nccl.conf": "NCCL_IB_HCA==another-node\n"}}
    spec = {key: value for key, value in original["spec"].items() if key != "nodeName"}
    copied = cluster.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    check_pod(copied)
    expect("annotations of a copy", set(ours(copied)), {"nccl-env.io/status"})
    expect("mounts of a copy", *(len(containers(some)["train"]["volumeMounts"]) for some in (copied, original)))


def check_reinvocation(cluster):
    """A later webhook adds the resource: the init container comes with the second round, and only once."""
    api, late = cluster.api, late_webhook(cluster.plane)
    try:
        eventually("the later webhook is called", lambda: cluster.would_be(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "start", "name": "probe", "labels": {"late": "yes"}},
             "spec": pod_spec(rdma=False)})["spec"]["containers"][0]["resources"])
        for name, rdma in (("late", False), ("both", True)):
            api.create(deployment("start", name, {"late": "yes"}, rdma=rdma))
            for some in pods_of(cluster, "start", name, 2):
                check_pod(some)
    finally:
        api.delete("MutatingWebhookConfiguration", None, "zz-late")
        late.close()


def check_ephemeral(cluster, some):
    """As `kubectl debug` adds one."""
    name = some["metadata"]["name"]
    debugger = {"name": "debugger", "image": "example.com/tools:1", "targetContainerName": "train",
                "env": [{"name": "NCCL_DEBUG", "value": "INFO"}]}
    changed = cluster.api.request(
        "PATCH", f"/api/v1/namespaces/start/pods/{name}/ephemeralcontainers",
        {"spec": {"ephemeralContainers": [debugger]}}, "application/strategic-merge-patch+json")
    added = changed["spec"]["ephemeralContainers"][0]
    expect("env of the ephemeral container", added["env"], debugger["env"])
    expect("mount of the ephemeral container", reads_conf(added), False)
    check_pod(changed)


def check_order(cluster):
    """Before the first container that reads the file, behind those that do not; never a second mount."""
    api = cluster.api
    asks = {"limits": {"rdma/hca": "1"}}
    spec = pod_spec()
    spec["initContainers"] = [
        {"name": "istio-like", "image": "example.com/proxy:1", "restartPolicy": "Always"},
        {"name": "check-rdma", "image": "example.com/check:1", "resources": asks},
        {"name": "fetch", "image": "example.com/fetch:1"}]
    spec["containers"].append({"name": "own-conf", "image": "example.com/train:1", "resources": asks, "volumeMounts": [
        {"name": "etc", "mountPath": "/etc/"}]})
    spec["containers"].append({"name": "logs", "image": "example.com/logs:1"})
    spec["volumes"] = [{"name": "etc", "emptyDir": {}}]
    made = api.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "start", "name": "order"}, "spec": spec})
    expect("order", list(containers(made)),
           ["istio-like", RESOLVER, "check-rdma", "fetch", "train", "own-conf", "logs"])
    expect("who reads the file", [name for name, some in containers(made).items() if reads_conf(some)],
           ["check-rdma", "train"])
    status = json.loads(annotations_of(made)["nccl-env.io/status"])
    expect("why not the one with its own /etc", set(status["containers"]["own-conf"]["omitted"].values()), {"ConfPresent"})
    expect("its env", containers(made)["own-conf"].get("env", []), [])


def check_switches(cluster):
    """A pod's label and its namespace's keep the init container away, and a namespace's goes as it came."""
    made = cluster.api.create(pod("start", "switched", labels={"nccl-env.io/resolve": "Binding"}))
    expect("init containers of a pod that turns them off", made["spec"].get("initContainers", []), [])
    expect_in("what it gets", annotations_of(made)["nccl-env.io/status"], '"NCCL_IB_HCA":"File"',
              '"NCCL_IB_GID_INDEX":"PodGidUnknown"')
    for value, wanted in (("Binding", []), (None, [RESOLVER])):
        cluster.api.merge("Namespace", None, "start", {"metadata": {"labels": {"nccl-env.io/resolve": value}}})
        for _ in cluster.webhooks.replicas:  # whichever answers
            eventually(f"init containers with {value} on the namespace", lambda: wanted == [
                some["name"] for some in cluster.would_be(pod("start", "probe"))["spec"].get("initContainers", [])])


def check_rails(cluster):
    """Without an init container a pod has the node's list only where its networks bring all rails."""
    def listed(namespace, name, **annotations):
        annotations = {"nccl-env.io/resolve": "Binding", **annotations}
        body = pod(namespace, name, annotations=annotations, node="node-a")
        made, warnings = make(cluster, namespace, name, body["spec"], annotations=annotations)
        status = json.loads(annotations_of(made)["nccl-env.io/status"])["containers"]["train"]
        bound = cluster.bound(namespace, name)
        return {**status["set"], **status["omitted"]}["NCCL_IB_HCA"], env_of(bound).get("NCCL_IB_HCA"), " ".join(warnings)

    match = {"resources": [{"name": "rdma/hca*", "exposure": "SubInterface"}]}
    whole = hca_list(["mlx5_1", "mlx5_2"])
    cluster.put_policy(policy("start-rails", match=match, fabric={"expectPorts": 2}))
    cluster.opt_in("start-rails", "start-rails")
    cluster.follows("start-rails", "node-a", HCA, whole)
    expect("a pod on no network", listed("start-rails", "none")[:2], ("File", whole))
    expect("a pod on both rails", listed("start-rails", "both", **NETWORKS)[:2], ("File", whole))
    one = {"k8s.v1.cni.cncf.io/networks": "rdma/rail0"}
    expect("a pod on one rail", listed("start-rails", "one", **one)[:2], ("PodRailsUnknown", None))
    text = Asker(cluster, cluster.plane.kubeconfig).told(1, "explain", "pod/one", "-n", "start-rails")
    expect_in("explain", " ".join(text.split()), "given, but no HCA list (PodRailsUnknown)", "attach the pod to all rails")
    named = {**match, "networks": [{"name": "rdma/*", "exposure": "SubInterface"}]}
    cluster.put_policy(policy("start-named", match=named, fabric={"expectPorts": 2}))
    cluster.opt_in("start-named", "start-named")
    reason, value, warnings = listed("start-named", "none")
    expect("a pod without the network that brings rails", (reason, value), ("PodRailsUnknown", None))
    expect_in("its warning", warnings, "this pod asks for none")
    expect("a pod with them", listed("start-named", "both", **NETWORKS)[0], "File")
    cluster.clear("start-rails", "start-named")


def tell(cluster, name, **state):
    """What a kubelet writes of our init container."""
    status = {"name": RESOLVER, "image": "registry.example.com/nccl-env-agent", "imageID": "", "ready": False,
              "restartCount": 0, "state": state}
    cluster.api.merge("Pod", "start", name, {"status": {"initContainerStatuses": [status]}}, "status")


def terminated(message="", code=0):
    return {"exitCode": code, "reason": "Error" if code else "Completed", "message": message,
            "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:01Z", "containerID": "e2e://1"}


def check_explain(cluster):
    """Three ranks: as they wait, as the real program found nothing here, and as others find something and one fails."""
    ask = Asker(cluster, cluster.plane.kubeconfig)
    label = "training.kubeflow.org/"
    for number in range(3):
        body = pod("start", f"rank-{number}", node="node-a", labels={
            label + "job-name": "looks", label + "replica-type": "worker", label + "replica-index": str(number)})
        # Else this machine's limit, which the real program tells, is a finding.
        body["spec"]["containers"][0]["securityContext"] = {"capabilities": {"add": ["IPC_LOCK"]}}
        cluster.api.create(body)
        bound = cluster.bound("start", f"rank-{number}")
    told = ask.json(0, "explain", "pod/rank-0", "-n", "start")
    expect("before it has started", (told["state"], told["good"], told["containers"][0]["file"]["state"]),
           ("not started", True, "not written"))
    tell(cluster, "rank-0", waiting={"reason": "ImagePullBackOff", "message": "no such image"})
    expect_in("an image that is not there", " ".join(ask.told(1, "explain", "pod/rank-0", "-n", "start").split()),
              "not started. The pod's init container nccl-env-resolve", "(ImagePullBackOff: registry.example.com/nccl-env-agent, no such image)",
              "/etc/nccl.conf of container train", "not written yet: ImagePullBackOff")
    message = run_resolver(cluster, containers(bound)[RESOLVER])
    tell(cluster, "rank-0", terminated=terminated(message))
    omitted = {some["name"]: some["detail"] for some in
               ask.json(1, "explain", "pod/rank-0", "-n", "start")["containers"][0]["omitted"]}
    sentence = next(fact["detail"] for fact in map(json.loads, message.splitlines())
                    if fact.get("omitted") == "NCCL_IB_HCA")
    expect("why the list was not found", omitted["NCCL_IB_HCA"], sentence)
    found = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in (
        {"v": 1}, {"set": "NCCL_IB_GID_INDEX", "to": "5"}, {"set": "NCCL_IB_HCA", "to": hca_list(["mlx5_3"])}))
    for number in (1, 2):
        tell(cluster, f"rank-{number}", terminated=terminated(found))
    text = ask.told(0, "explain", "pod/rank-1", "-n", "start")
    expect_in("what it found", text, "Pod     =mlx5_3\n", "NCCL_IB_GID_INDEX  Pod     5\n", "Policy  22\n")
    job = ask.json(1, "explain", "job/looks", "-n", "start")
    expect("ranks' values", [(rank["hcas"], rank["gidIndex"]) for rank in job["ranks"]],
           [([], None), (["mlx5_3"], "5"), (["mlx5_3"], "5")])
    expect("the odd rank", {(some["code"], *some["subject"]["parts"]) for some in job["findings"]
                            if some["severity"] != "info"}, {("OddNode", "worker-0")})
    failed = cluster.api.create(pod("start", "failed", node="node-a"))
    cluster.bound("start", failed["metadata"]["name"])
    tell(cluster, "failed", terminated=terminated(code=137))
    expect_in("a failed one", " ".join(ask.told(1, "explain", "pod/failed", "-n", "start").split()),
              "The pod does not start: its init container nccl-env-resolve failed (exit code 137)")


def run(cluster):
    cluster.api.apply(table("node-a", ["mlx5_1", "mlx5_2"]))
    cluster.put_policy(policy("start", match={"resources": [{"name": "rdma/hca*", "exposure": "SubInterface"}]}))
    cluster.opt_in("start", "start")
    some = check_deployment(cluster)
    check_copy(cluster, some)
    check_reinvocation(cluster)
    check_ephemeral(cluster, some)
    check_order(cluster)
    check_switches(cluster)
    check_rails(cluster)
    check_explain(cluster)
    cluster.clear("start")
