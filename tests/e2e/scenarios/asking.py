# SPDX-License-Identifier: Apache-2.0
"""What nccl-env says when its users ask: of pods and jobs with a tenant's rights, and of a fleet with faults."""
import json
import signal
from concurrent.futures import ThreadPoolExecutor

from asker import Asker, tenant
from cluster import SOURCE
from fleet import ALSO_NAMED, PLANTED, healthy_fleet
from objects import HCA, expect, expect_in, hca_list, ours, pod, pod_spec, policy, table
from process import Failed, eventually

NAME = "12 asking: explain with a tenant's rights, a job's odd node, a bug report, twelve faults among 200 nodes"
RAILS = ["mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4"]
NODES = ["ask-0", "ask-1", "ask-2", "ask-3"]
BARE = "ask-4"  # a node without a table
REPLICA = {"training.kubeflow.org/job-name": "train", "training.kubeflow.org/replica-type": "worker"}


def worker(number, **more):
    labels = {**REPLICA, "training.kubeflow.org/replica-index": str(number)}
    return pod("asking", f"train-worker-{number}", labels=labels, node=NODES[number], **more)


def without_webhooks(cluster, work):
    for name in list(cluster.webhooks.replicas):
        cluster.webhooks.end(name, signal.SIGKILL)
    try:
        work()
    finally:
        for name in list(cluster.webhooks.replicas):
            cluster.webhooks.start(name)


def prepare(cluster):
    """Pods in every state that a user asks about; returns who asks."""
    api = cluster.api
    cluster.plane.add_node(BARE)
    for node in NODES:
        cluster.plane.add_node(node)
        api.apply(table(node, RAILS if node != "ask-3" else RAILS[:2]))
    cluster.put_policy(policy("asking", env={"NCCL_IB_QPS_PER_CONNECTION": "8"}, fabric={"hcas": ["mlx5_*"]}))
    cluster.opt_in("asking", "asking")
    cluster.follows("asking", "ask-0", HCA, hca_list(RAILS))
    cluster.follows("asking", "ask-3", HCA, hca_list(RAILS[:2]))
    api.create(pod("asking", "healthy", node="ask-0", env=[{"name": "NCCL_DEBUG", "value": "INFO"}]))
    api.create(pod("asking", "nowhere", node="no-such-node"))
    api.create(pod("asking", "gated", node="ask-0", schedulingGates=[{"name": "e2e.nccl-env.io/hold"}]))
    api.create(pod("asking", "out", node="ask-0", labels={"nccl-env.io/inject": "false"}))
    api.create(pod("asking", "other", node="ask-0", rdma=False))
    api.create(pod("asking", "unbound", schedulerName="none"))
    for number in range(4):
        api.create(worker(number))
        cluster.bound("asking", f"train-worker-{number}")
    for name in ("healthy", "out", "other"):
        cluster.bound("asking", name)

    def by_nobody():
        api.create(pod("asking", "missed", node="ask-0"))
        cluster.bound("asking", "missed")
        api.bind("asking", "unbound", "ask-1")
    without_webhooks(cluster, by_nobody)
    expect("annotations of a pod that was missed", ours(api.get("Pod", "asking", "missed")), {})
    api.request("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/asking/roles", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "pods-only"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]})
    return (tenant(cluster, "asking", "viewer", "view"), tenant(cluster, "asking", "poor", "pods-only", "Role"),
            Asker(cluster, cluster.plane.kubeconfig, "kubectl-nccl_env"))


def check_healthy(cluster, viewer, poor, admin):
    for asker in (viewer, poor):
        text = asker.told(0, "explain", "pod/healthy", "-n", "asking")
        expect_in("what a tenant is told", text, "pod asking/healthy: given, node not seen. The pod has what policy asking",
                  "\n  node      ask-0\n", "\n  exposure  Host\n", f"File    {hca_list(RAILS)}\n",
                  "NCCL_IB_QPS_PER_CONNECTION  Policy  8\n", "NCCL_DEBUG                  User    INFO\n",
                  "not allowed: get ncclpolicies.nccl-env.io asking",
                  "not allowed: get nodefabrics.nccl-env.io ask-0")
    # The cluster's role `view`, bound in a namespace, reads that namespace; a role for pods alone does not.
    poorer = "not allowed: get namespaces asking"
    expect_in("what is left out with pods alone", poor.told(0, "explain", "pod/healthy", "-n", "asking"), poorer)
    if poorer in viewer.told(0, "explain", "pod/healthy", "-n", "asking"):
        raise Failed("view does not read its namespace")
    expect_in("what an administrator is told", admin.told(0, "explain", "pod", "healthy", "-n", "asking"),
              "alone takes the same HCAs")
    text = admin.told(0, "explain", "pod", "healthy", "-n", "asking", "-o", "wide")
    expect_in("what an administrator is told at length", text, "alone\n    HCAs        mlx5_1:1, mlx5_2:1",
              "with these variables")
    if "left out" in text:
        raise Failed(f"something is left out for an administrator: {text}")
    code, out, err = viewer.run("explain", "pod/healthy", "-n", "default")
    expect("pod of another namespace", (code, out, err), (4, "", "nccl-env: not allowed: get pods default/healthy\n"))
    env = viewer.told(0, "explain", "pod/healthy", "-n", "asking", "-o", "env")
    expect_in("its env", env, f"NCCL_IB_HCA={hca_list(RAILS)}\n", "NCCL_IB_GID_INDEX=3\n")


def check_states(cluster, viewer, poor, admin):
    """Each pod with what a tenant, one with pods alone, and an administrator are told, and their exit codes."""
    cases = {
        "nowhere": ((0, "waiting. The values of the node come with the Binding; the pod has"),) * 3,
        "gated": ((0, "its scheduling gate 'e2e.nccl-env.io/hold' is"),) * 3,
        "out": ((0, "not injected, OptedOut. The pod says"),) * 3,
        "other": ((0, "not known. Nothing was injected"), (0, "not known. Nothing was injected"),
                  (0, "not injected, NotRdma.")),
        "missed": ((0, "follows policy asking: either that does not"), (0, "its namespace is not opted in"),
                   (1, "missed at admission. Policy asking matches the pod")),
        "unbound": ((1, "missed at Binding. The pod was bound to node ask-1"),) * 3,
    }
    for name, answers in cases.items():
        for asker, (code, part) in zip((viewer, poor, admin), answers):
            text = " ".join(asker.told(code, "explain", f"pod/{name}", "-n", "asking").split())
            expect_in(f"explain of {name}", text, part)
    eventually("the scheduler's word is told", lambda: "didn't match Pod's node affinity" in " ".join(
        viewer.told(0, "explain", "pod/nowhere", "-n", "asking").split()))


def check_missed(cluster, viewer, admin):
    """doctor --pods names those that no webhook saw, and no other; without a right it says which."""
    before = {(some["metadata"]["namespace"], some["metadata"]["name"]) for some in cluster.api.list("Pod", "asking")}
    told = admin.json(1, "doctor", "--pods", "-n", "asking")
    expect("pods that were missed", [(some["pod"], some["node"], some["state"]) for some in told["pods"]],
           [("missed", "ask-0", "missed at admission"), ("unbound", "ask-1", "missed at Binding")])
    expect("counts", [told[key] for key in ("lookedAt", "missedAtAdmission", "missedAtBinding", "foreign", "leftOut")],
           [len(before), 1, 1, 0, []])
    everywhere = admin.json(1, "doctor", "--pods")["pods"]
    expect("missed pods of all namespaces", [some["pod"] for some in everywhere if some["namespace"] == "asking"],
           ["missed", "unbound"])
    partly = " ".join(viewer.told(1, "doctor", "--pods", "-n", "asking").split())
    expect_in("doctor --pods of a tenant", partly, "1 missed at Binding",
              "not allowed: get ncclpolicies.nccl-env.io asking")
    code, out, err = viewer.run("doctor", "--pods")
    expect("doctor --pods of a tenant, everywhere", (code, out), (4, ""))
    expect_in("its sentence", err, 'cannot list resource "namespaces"', "--namespace")


def check_reader(cluster, viewer):
    """docs/use/explain.md: who may read policies and tables is told all."""
    text = (SOURCE / "docs/use/explain.md").read_text()
    commands = [line.strip() for line in text.replace("\\\n", "").splitlines()
                if line.strip().startswith("kubectl create clusterrole")]
    expect("commands of the documentation", len(commands), 1)
    for command in commands:
        cluster.kubectl(*command.split()[1:])

    def told():
        code, out, _ = viewer.run("explain", "pod/missed", "-n", "asking")
        return out if code == 1 else None
    if "left out" in eventually("the right is there", told):
        raise Failed("something is left out for a reader")
    cluster.kubectl("delete", "clusterrolebinding", "nccl-env-reader")
    eventually("the right is gone", lambda: viewer.run("explain", "pod/missed", "-n", "asking")[0] == 0)


def check_deny(cluster, admin):
    """A pod that onUnresolved: Deny holds back: what the webhook told the scheduler is told."""
    cluster.put_policy(policy("ask-deny", onUnresolved="Deny"))
    cluster.opt_in("ask-deny", "ask-deny")
    cluster.held(pod("ask-deny", "held", node=BARE))
    asker = tenant(cluster, "ask-deny", "waiter", "view")

    def held():
        code, out, _ = asker.run("explain", "pod/held", "-n", "ask-deny")
        return " ".join(out.split()) if code == 1 else None
    expect_in("explain of a pod that Deny holds", eventually("the refusal is told", held),
              "held back, because its policy says onUnresolved: Deny.", BARE, "NoTable")
    expect_in("its job", admin.told(1, "explain", "job", "-f", held_pods(cluster)), "HeldBack")


def held_pods(cluster):
    file = cluster.directory / "held.json"
    file.write_text(cluster.kubectl("get", "pods", "-n", "ask-deny", "-o", "json"))
    return file


def grave(told):
    """Findings but infos, which say of these bare pods that they lock no memory and mount no /dev/shm."""
    return [finding for finding in told["findings"] if finding["severity"] != "info"]


def check_job(cluster, viewer, poor, admin):
    text = poor.told(1, "explain", "job/train", "-n", "asking")
    expect_in("the job's table", text, "  worker-0  ask-0  mlx5_1-4  3    given, node not seen\n",
              "! worker-3  ask-3  mlx5_1-2  3    given, node not seen\n",
              "rank worker-3 on node ask-3")
    told = viewer.json(1, "explain", "job/train", "-n", "asking")
    expect("the job's finding", [(f["code"], f["subject"]["parts"]) for f in grave(told)],
           [("MissingRail", ["worker-3"])])
    expect("its sentence", told["sentence"], "1 of 4 ranks of job train needs attention: rank worker-3 on node ask-3 "
           "has 2 HCAs where others have 4: without mlx5_3, mlx5_4.")
    api = cluster.api
    api.delete("Pod", "asking", "train-worker-3", grace=0)
    api.delete("Pod", "asking", "train-worker-2", grace=0)
    api.create(worker(2, env=[{"name": "NCCL_IB_QPS_PER_CONNECTION", "value": "4"}]))
    cluster.bound("asking", "train-worker-2")
    found = [(f["code"], f["subject"]["parts"], f["subject"]["path"])
             for f in grave(viewer.json(1, "explain", "job/train", "-n", "asking"))]
    expect("a value that differs", found, [("ValuesDiffer", ["worker-2"], "NCCL_IB_QPS_PER_CONNECTION")])
    api.apply(table("ask-1", RAILS[:3]))
    found = [(f["code"], f["subject"]["parts"]) for f in grave(admin.json(1, "explain", "job/train", "-n", "asking"))]
    expect("a table that changed since", found, [("NoSuchDevice", ["worker-1"]), ("ValuesDiffer", ["worker-2"]), ("ChangedSinceBound", ["worker-1"])])
    text = admin.told(1, "explain", "pod/train-worker-1", "-n", "asking")
    expect_in("what changed", " ".join(text.split()), f"Changed since the pod was bound: NCCL_IB_HCA (without {RAILS[3]})")
    code, _, err = viewer.run("explain", "job/nothing", "-n", "asking")
    expect("a job that is not there", (code, "there are no pods with its label" in err), (4, True))


def check_batch_job(cluster, viewer):
    """A Job whose pods its controller makes and labels."""
    template = {"metadata": {}, "spec": {**pod_spec(node="ask-0"), "restartPolicy": "Never"}}
    cluster.api.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "asking", "name": "batch"},
                        "spec": {"completions": 3, "parallelism": 3, "completionMode": "Indexed",
                                 "template": template}})
    eventually("all pods of the Job are bound", lambda: 3 == len([
        some for some in cluster.api.list("Pod", "asking", "?labelSelector=job-name%3Dbatch")
        if some["spec"].get("nodeName")]))
    told = viewer.json(0, "explain", "job/batch", "-n", "asking")
    expect("ranks of the Job", [rank["rank"] for rank in told["ranks"]], ["0", "1", "2"])


def check_manifest(cluster, admin, viewer):
    """Not applied yet: the policy is that of the cluster's namespace."""
    manifest = cluster.directory / "manifest.json"
    manifest.write_text(json.dumps(pod("asking", "planned")))
    expect_in("a manifest's answer", admin.told(0, "explain", "-f", manifest, "--node", "ask-0"), "policy    asking",
              hca_list(RAILS), "alone")
    expect_in("a manifest elsewhere", " ".join(admin.told(0, "explain", "-f", manifest, "-n", "default").split()),
              "NamespaceNotOptedIn: Namespace default has no label")
    code, _, err = viewer.run("explain", "-f", manifest)
    expect("a manifest without the right", (code, "give the policy's file with --policy" in err), (4, True))


def check_log(cluster, admin):
    """A log beside the pod as the cluster has it."""
    given, log = cluster.directory / "healthy.json", cluster.directory / "train.log"
    given.write_text(cluster.kubectl("get", "pod", "healthy", "-n", "asking", "-o", "json"))
    line = "ask-0:9:9 [0] NCCL INFO "
    using = line + "NET/IB : Using " + " ".join(f"[{i}]{hca}:1/RoCE" for i, hca in enumerate(RAILS)) + \
        " [RO]; OOB eth0:10.0.0.1<0>\n"
    log.write_text(using + line + "NCCL_IB_QPS_PER_CONNECTION set by environment to 8.\n" + line +
                   "Using network IB\n")
    expect_in("a good log", admin.told(0, "verify", "-f", given, log), "used      NCCL_IB_HCA",
              "used      NCCL_IB_QPS_PER_CONNECTION")
    log.write_text(using.replace(" [3]mlx5_4:1/RoCE", " [3]mlx5_9:1/RoCE"))
    expect_in("a log that contradicts", admin.told(1, "verify", "-f", given, log), "contradicted  NCCL_IB_HCA",
              "mlx5_9")


def check_kubeconfigs(cluster):
    """Two files in $KUBECONFIG, one with the clusters and one with users, whose credentials a plugin prints."""
    known = json.loads(cluster.plane.kubeconfig.read_text())
    plugin = cluster.directory / "login"
    plugin.write_text(f"""#!/bin/sh
echo "$KUBERNETES_EXEC_INFO" >> {cluster.directory}/login.asked
printf '{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{"token":"%s"}}}}' \
  "$(cat "$TOKEN")"
""")
    plugin.chmod(0o700)
    command = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin), "interactiveMode": "Never",
               "env": [{"name": "TOKEN", "value": str(cluster.directory / "viewer.token")}]}
    places, people = cluster.directory / "places.kubeconfig", cluster.directory / "people.kubeconfig"
    places.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "gone", "clusters": known["clusters"] + [
            {"name": "gone", "cluster": {"server": "https://127.0.0.1:1"}}],
        "contexts": [{"name": "gone", "context": {"cluster": "gone", "user": "viewer"}},
                     {"name": "here", "context": {"cluster": "e2e", "user": "viewer", "namespace": "asking"}}]}))
    people.write_text(json.dumps({"apiVersion": "v1", "kind": "Config",
                                  "users": [{"name": "viewer", "user": {"exec": command}}]}))
    asker = Asker(cluster, f"{places}:{people}")
    expect_in("a pod by a plugin's token", asker.told(0, "explain", "pod/healthy", "--context", "here"),
              "pod asking/healthy: given", "not allowed: get ncclpolicies.nccl-env.io asking")
    if not (cluster.directory / "login.asked").exists():
        raise Failed("the plugin was not asked")
    for words in (("explain", "pod/healthy"), ("doctor",), ("nodes",), ("check",)):
        code, out, err = asker.run(*words)
        expect(f"a cluster that does not answer: {words[0]}", (code, out, err.count("gone"), err.count("127.0.0.1:1")),
               (4, "", 1, 1))
    code, _, err = asker.run("verify", "pod/healthy", "--context", "nowhere")
    expect("a context that is not there", (code, "nowhere" in err, len(err.splitlines())), (4, True, 1))


def check_report(cluster, admin):
    """One file holds what was said of the cluster."""
    cluster.opt_in("ask-report", "asking")
    cluster.api.create(pod("ask-report", "rank-0", node="ask-0", labels=REPLICA))
    cluster.bound("ask-report", "rank-0")
    file = cluster.directory / "report.jsonl"
    expect_in("what a report holds", admin.told(0, "bug-report", "-n", "ask-report", "pod/rank-0", "job/train", "-o", file),
              " pods")
    for real in ("ask-report", "ask-0", "rank-0", "25.11.0.2"):
        expect_in("a report", file.read_text(), real)


def check_fleet(cluster, admin):
    """200 healthy tables without an alarm; then every planted fault with its node, and no other."""
    api, fleet = cluster.api, healthy_fleet(200)
    for some in api.list("NodeFabric"):
        api.delete("NodeFabric", None, some["metadata"]["name"])
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(api.create, fleet.values()))

    def faults():  # of the fleet: the cluster's own nodes have no table now, which is a fault once agents had time
        return {(some["code"], some["subject"]["name"], ", ".join(some["subject"]["parts"]))
                for some in json.loads(admin.run("doctor", "-o", "json")[1])["findings"]
                if some["severity"] != "info" and some["subject"]["name"] in fleet}
    expect("faults of a healthy fleet", faults(), set())
    expect_in("a node without a table", admin.run("nodes", BARE)[1], "NoTable: ")
    for node, (plant, _, _) in PLANTED.items():
        plant(fleet[node]["observed"])
        api.apply(fleet[node])
    found = faults()
    wanted = {(check, node, hca) for node, (_, check, hca) in PLANTED.items()}
    expect("planted faults that the doctor does not name", wanted - found, set())
    nodes = {node for _, node, _ in found}
    expect("nodes that it names besides", nodes - set(PLANTED) - {node for _, node, _ in ALSO_NAMED}, set())
    marked = {line.split()[1] for line in admin.told(0, "nodes").splitlines() if line.startswith("!")} & set(fleet)
    expect("nodes with a mark", marked, nodes)
    text = admin.told(1, "doctor")
    for node in PLANTED:
        expect_in("what people read", text, node)
    for name in fleet:
        api.delete("NodeFabric", None, name)


def run(cluster):
    viewer, poor, admin = prepare(cluster)
    check_healthy(cluster, viewer, poor, admin)
    check_states(cluster, viewer, poor, admin)
    check_missed(cluster, viewer, admin)
    check_deny(cluster, admin)
    check_job(cluster, viewer, poor, admin)
    check_batch_job(cluster, viewer)
    check_reader(cluster, viewer)
    check_manifest(cluster, admin, viewer)
    check_log(cluster, admin)
    check_kubeconfigs(cluster)
    check_report(cluster, admin)
    check_fleet(cluster, admin)
    cluster.clear("asking", "ask-deny", "ask-report")
    for node in [*NODES, BARE]:
        cluster.api.delete("Node", None, node)
    return f"{len(PLANTED)} faults named"
