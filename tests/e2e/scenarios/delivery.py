# SPDX-License-Identifier: Apache-2.0
"""Delivery by file: an MPIJob's pods, whose ranks sshd starts without the pod's environment, and what a user set."""
import json

from asker import Asker
from objects import (HCA, annotations_of, containers, env_of, expect, expect_in, file_of, hca_list, pod, pod_spec, policy, reads_conf,
                     table)
from process import Failed
from scenarios.asking import without_webhooks

NAME = "16 delivery by file: what an MPIJob's launcher is told, and what a user set anywhere wins"
RAILS = {"node-a": (["mlx5_1", "mlx5_2"], 3), "node-b": (["mlx5_0", "mlx5_5"], 5)}
LAUNCH = "mpirun --allow-run-as-root -np 16 -x NCCL_DEBUG=INFO -x NCCL_SOCKET_IFNAME=eth0 -x PATH python train.py"


def values(node, **more):
    hcas, index = RAILS[node]
    return {"NCCL_IB_HCA": hca_list(hcas), "NCCL_IB_GID_INDEX": str(index), "NCCL_IB_TIMEOUT": "22",
            "NCCL_SOCKET_IFNAME": "eth0", **more}


def make(cluster, namespace, name, spec, annotations=None):
    """The pod that comes of it, and the warnings that its creator reads."""
    body = {"apiVersion": "v1", "kind": "Pod", "spec": spec, "metadata": {
        "namespace": namespace, "name": name, "labels": {"training.kubeflow.org/job-name": "resnet"},
        "annotations": annotations or {}}}
    connection = cluster.api.connect()
    connection.request("POST", f"/api/v1/namespaces/{namespace}/pods", json.dumps(body),
                       {"Content-Type": "application/json"})
    reply = connection.getresponse()
    made = json.loads(reply.read())
    if reply.status >= 400:
        raise Failed(f"pod {namespace}/{name}: {made['message']}")
    return made, [text for text in reply.headers.get_all("Warning") or [] if "nccl-env:" in text]


def check_mpijob(cluster):
    launcher = pod_spec(rdma=False)
    launcher["containers"][0].update(name="mpi", command=["sh", "-c", LAUNCH])
    made, warnings = make(cluster, "files", "resnet-launcher", launcher)
    expect("env of the launcher", made["spec"]["containers"][0].get("env", []), [])
    expect("file of the launcher", reads_conf(made["spec"]["containers"][0]), False)
    expect_in("the warning to the launcher's creator", " ".join(warnings), "NCCL_SOCKET_IFNAME", "read those values from")
    worker = pod_spec(node="node-a")
    worker["containers"][0].update(name="mpi", command=["/usr/sbin/sshd", "-De"])
    _, warnings = make(cluster, "files", "resnet-worker", worker)
    expect("a warning of sshd", [text for text in warnings if "sshd" in text], [])


def check_own_values(cluster):
    """Each way to set a variable by oneself, in env and with a file of ours beside it."""
    annotation = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['training.kubeflow.org/job-name']"}}}
    asks = {"limits": {"rdma/hca": "1"}}
    spec = pod_spec(node="node-a")
    spec["initContainers"] = [{"name": "init", "image": "example.com/train:1", "resources": asks},
                              {"name": "sidecar", "image": "example.com/proxy:1", "resources": asks, "restartPolicy": "Always"}]
    spec["containers"] = [{"name": name, "image": "example.com/train:1", "resources": asks, **more} for name, more in {
        "plain": {},
        "empty": {"env": [{"name": "NCCL_IB_TIMEOUT", "value": ""}]},
        "from": {"env": [{"name": "NCCL_IB_TIMEOUT", **annotation}]},
        "twice": {"env": [{"name": "NCCL_IB_TIMEOUT", "value": "18"}, {"name": "NCCL_IB_TIMEOUT", "value": "20"}]},
        "own-hcas": {"env": [{"name": "NCCL_IB_HCA", "value": "=mlx5_9"}]},
        "sockets": {"env": [{"name": "NCCL_IB_DISABLE", "value": "1"}]},
    }.items()]
    make(cluster, "files", "own-values", spec)
    bound = cluster.bound("files", "own-values")
    sees = {name: env_of(bound, name) for name in containers(bound)}
    full = values("node-a")
    for name in ("plain", "init", "sidecar"):
        expect(f"what {name} sees", {key: value for key, value in sees[name].items() if value}, full)
    for name, value in (("empty", ""), ("from", "resnet"), ("twice", "20")):
        expect(f"timeout of {name}", sees[name]["NCCL_IB_TIMEOUT"], value)
        expect(f"HCA list of {name}", sees[name]["NCCL_IB_HCA"], full["NCCL_IB_HCA"])
    expect("HCA list of own-hcas", sees["own-hcas"]["NCCL_IB_HCA"], "=mlx5_9")
    expect("index beside an own HCA list", sees["own-hcas"].get("NCCL_IB_GID_INDEX"), None)
    expect("IB variables of a container that turned it off",
           [name for name, value in sees["sockets"].items()
            if value and name.startswith("NCCL_IB_") and name != "NCCL_IB_DISABLE"], [])
    status = json.loads(annotations_of(bound)["nccl-env.io/status"])["containers"]
    expect("reason of own-hcas", status["own-hcas"]["omitted"]["NCCL_IB_GID_INDEX"], "UserSetGroup")
    expect("reason of sockets", status["sockets"]["omitted"]["nccl.conf"], "DisabledByUser")


def check_own_files(cluster):
    """A file that is the user's stands above our env; beside one that NCCL reads first, ours brings what it does not hold."""
    asks = {"limits": {"rdma/hca": "1"}}
    spec = pod_spec(node="node-a", volumes=[{"name": "mine", "configMap": {"name": "with"}},
                                            {"name": "all", "projected": {"sources": [{"configMap": {"name": "with"}}]}}])
    mounts = {"nccl": ("mine", "/etc/nccl.conf", "f"), "rccl": ("mine", "/etc/rccl.conf", "f"), "etc": ("all", "/etc", None)}
    spec["containers"] = [{"name": name, "image": "example.com/train:1", "resources": asks, "volumeMounts": [
        {"name": volume, "mountPath": path, **({"subPath": sub} if sub else {})}]}
        for name, (volume, path, sub) in mounts.items()]
    spec["containers"].append({"name": "named", "image": "example.com/train:1", "resources": asks,
                               "env": [{"name": "NCCL_CONF_FILE", "value": "/conf/mine"}]})
    spec["containers"].append({"name": "writes", "image": "example.com/train:1", "resources": asks,
                               "command": ["sh", "-c", "echo NCCL_DEBUG=INFO >> /etc/nccl.conf; exec train"]})
    _, warnings = make(cluster, "files", "own-files", spec)
    expect_in("the warning to their creator", " ".join(warnings), "container nccl: its own file (/etc/nccl.conf)",
              "container rccl: its own file (/etc/rccl.conf)", "container etc: its own file (/etc)")
    bound = cluster.bound("files", "own-files")
    status = json.loads(annotations_of(bound)["nccl-env.io/status"])["containers"]
    for name in (*mounts, "writes"):
        some = containers(bound)[name]
        expect(f"env of {name}", some.get("env", []), [])
        expect(f"our mounts in {name}", [mount for mount in some["volumeMounts"] if mount["name"].startswith("nccl-env")], [])
        expect(f"reasons of {name}", set(status[name]["omitted"].values()), {"ConfPresent"})
    named = containers(bound)["named"]
    expect("nccl.conf of named, whose own file may have a list", file_of(bound, named),
           {name: value for name, value in values("node-a").items() if name != "NCCL_IB_GID_INDEX"})
    expect("env of named", named["env"], [{"name": "NCCL_CONF_FILE", "value": "/conf/mine"}])
    text = " ".join(Asker(cluster, cluster.plane.kubeconfig).told(0, "explain", "pod/own-files", "-n", "files").split())
    expect_in("explain", text, "ConfPresent", "Remove that mount, NCCL_CONF_FILE or what the command writes")


def check_many(cluster):
    """Sixty containers, and a pod whose own annotations leave just enough room: a Binding brings its own to
    every pod."""
    spec = pod_spec(node="node-b")
    spec["containers"] = [{"name": f"rank-{number}", "image": "example.com/train:1",
                           "resources": {"limits": {"rdma/hca": "1"}}} for number in range(60)]
    make(cluster, "files", "sixty", spec)
    bound = cluster.bound("files", "sixty")
    for some in bound["spec"]["containers"]:
        expect(f"nccl.conf of {some['name']}", file_of(bound, some), values("node-b"))
    outcomes = {}
    for spare in (4 << 10, 64 << 10):
        name = f"edge-{spare}"
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {
            "namespace": "files", "name": name, "annotations": {"example.com/large": "x" * ((256 << 10) - spare)}},
            "spec": pod_spec(node="node-b")}
        cluster.api.create(body)
        bound = cluster.bound("files", name)
        # The kubelet's first write: refused for good where annotations are too large.
        cluster.api.merge("Pod", "files", name, {"status": {"message": "started"}}, "status")
        outcomes[spare] = "nccl-env.io/status" in annotations_of(bound)
    expect("who has a status of those at the edge", outcomes, {4 << 10: False, 64 << 10: True})


def check_deny(cluster):
    """A pod that waits for a file of ours waits as one that waits for its env."""
    cluster.put_policy(policy("file-deny", delivery=["File"], onUnresolved="Deny"))
    cluster.opt_in("file-deny", "file-deny")
    expect_in("an event", cluster.held(pod("file-deny", "waits", node="node-c")), "NoTable")


def check_explain(cluster):
    """The file's lines beside the env, and a file that no Binding filled."""
    ask = Asker(cluster, cluster.plane.kubeconfig)
    full = values("node-a")
    make(cluster, "files", "train", pod_spec(node="node-a"))
    cluster.bound("files", "train")
    lines = ask.json(0, "explain", "pod/train", "-n", "files")["containers"][0]["file"]["lines"]
    expect("lines by file alone", {line["name"]: line["value"] for line in lines}, full)
    expect("their sources", {line["source"] for line in lines}, {"File"})
    text = ask.told(1, "explain", "pod/own-values", "-n", "files")  # own-hcas names a device that is not there
    expect_in("env beside the file", " ".join(text.split()), "/etc/nccl.conf of container twice",
              "NCCL_IB_TIMEOUT User 20", "File 22 (the env's value counts)")
    cluster.api.create(pod("files", "unfilled", schedulerName="none"))
    without_webhooks(cluster, lambda: cluster.api.bind("files", "unfilled", "node-a"))
    expect_in("a file that nobody filled", " ".join(ask.told(1, "explain", "pod/unfilled", "-n", "files").split()),
              "missed at Binding. The pod was bound to node node-a", "the file is empty")


def run(cluster):
    for node, (hcas, index) in RAILS.items():
        cluster.api.apply(table(node, hcas, index))
    cluster.put_policy(policy("files", delivery=["File"], socketInterface="eth0"))
    cluster.opt_in("files", "files")
    for node, (hcas, _) in RAILS.items():
        cluster.follows("files", node, HCA, hca_list(hcas))
    check_mpijob(cluster)
    check_own_values(cluster)
    check_own_files(cluster)
    check_many(cluster)
    check_explain(cluster)
    check_deny(cluster)
    cluster.clear("files", "file-deny")
