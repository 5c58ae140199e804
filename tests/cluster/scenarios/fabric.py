# SPDX-License-Identifier: Apache-2.0
"""nccl-env fabric test on two nodes. Neither has RDMA devices, so no packet is sent; all before it and behind it is real."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

import yaml
from installation import archives
from node import Node
from parts import ADDRESS
from process import Failed, eventually
from session import expect, pod

NAME = "fabric: a test of the fabric that nobody lets run, that runs without devices, and that always goes"
OPTIONS = ("--nodes", "gpu-1,gpu-2")
HOSTS = pathlib.Path("/etc/hosts")


def offer(session, node, amount):
    session.kubectl("patch", "node", node, "--subresource=status", "--type=merge", "-p",
                    json.dumps({"status": {"capacity": {"rdma/hca": amount}}}))
    eventually(f"{node} offers {amount} devices", lambda: session.api.get("Node", None, node)["status"]["allocatable"]
               .get("rdma/hca") == amount)


class Tester:
    """Runs the command in a namespace, with a job's manifest."""

    def __init__(self, session, namespace):
        self.session, self.namespace = session, namespace
        self.job = session.state / "fabric-job.yaml"
        self.job.write_text(yaml.safe_dump(pod(namespace, "like")))

    def words(self, *more, kubeconfig=None):
        config = ("--kubeconfig", kubeconfig) if kubeconfig else ()
        return [str(word) for word in ("nccl-env", "fabric", "test", "-n", self.namespace, "--like", self.job, *config, *more)]

    def run(self, code, *more, says="", **keywords):
        words = self.words(*(more or OPTIONS), **keywords)
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        told = " ".join((done.stdout + done.stderr).split())
        if done.returncode != code or says not in told:
            raise Failed(f"{' '.join(words)}: exit {done.returncode}, not {code}, or not told: {says}: {told[:2000]}")
        self.expect_gone()
        return done.stdout

    def start(self, *more):
        """A command whose Job is there."""
        command = subprocess.Popen(self.words(*OPTIONS, *more), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        eventually("the Job is there", self.jobs)
        return command

    def jobs(self):
        return self.left("jobs")

    def left(self, kinds):
        said = self.session.kubectl("-n", self.namespace, "get", kinds, "-o", "name")
        return [line for line in said.split() if "nccl-env-fabric" in line]

    def expect_gone(self):
        eventually("all of the test is gone", lambda: not self.left("jobs,services,pods"), limit=60)


@contextlib.contextmanager
def names(session, namespace, addresses):
    """In place of a cluster's DNS: pods of the node's network get its /etc/hosts, with the name of each Job's pod 0 once that has
    a node. `addresses`: by node."""
    hosts, before, over = session.state / "hosts", HOSTS.read_text(), threading.Event()
    written = []
    hosts.write_text(before)
    subprocess.run(["mount", "--bind", hosts, HOSTS], check=True)

    def follow():
        while not over.wait(0.02):
            leaders = session.api.list("Pod", namespace, "?labelSelector=batch.kubernetes.io%2Fjob-completion-index%3D0")
            lines = [f"{addresses[one['spec']['nodeName']]} {one['spec']['hostname']}.{one['spec']['subdomain']}\n"
                     for one in leaders if "nodeName" in one["spec"]]
            if lines != written:
                hosts.write_text(before + "".join(lines))
                written[:] = lines
    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        subprocess.run(["umount", "--lazy", HOSTS], check=True)


def refused(session, tester):
    """Before anything is created."""
    session.plain("fabric-plain")
    Tester(session, "fabric-plain").run(3, says="has no label nccl-env.io/policy")
    session.api.request("POST", f"/api/v1/namespaces/{tester.namespace}/resourcequotas", {
        "metadata": {"name": "none"}, "spec": {"hard": {"requests.rdma/hca": "0"}}})
    eventually("the quota counts", lambda: session.api.request(
        "GET", f"/api/v1/namespaces/{tester.namespace}/resourcequotas/none").get("status", {}).get("used"))
    tester.run(3, says="is refused by a ResourceQuota")
    session.kubectl("-n", tester.namespace, "delete", "resourcequota", "none")


def together(tester):
    """Both members come, over the network that they share; without a device there is nothing to send."""
    found = json.loads(tester.run(3, *OPTIONS, "-o", "json", says="Nothing was tested"))
    expect("members", sorted(one["node"] for one in found["members"]), ["gpu-1", "gpu-2"])
    expect("nodes that did not come", found["untested"], [])


def without_rights(session, tester):
    """Right by right: what is refused is named, and what was made before is gone."""
    config = json.loads((session.state / "admin.conf").read_text())
    config["users"][0]["user"]["as"] = f"system:serviceaccount:{tester.namespace}:tester"
    path = session.state / "tester.conf"
    path.write_text(json.dumps(config))
    rules = [([""], ["namespaces"], ["get"]), (["nccl-env.io"], ["ncclpolicies"], ["get"]),
             (["batch"], ["jobs"], ["create", "delete"]), ([""], ["services"], ["create"]), ([""], ["pods"], ["list"]),
             ([""], ["pods/log"], ["get"]), ([""], ["events"], ["list"])]
    session.kubectl("create", "clusterrolebinding", "fabric-tester", "--clusterrole=fabric-tester",
                    f"--serviceaccount={tester.namespace}:tester")
    for given, says in ((2, "create jobs"), (3, "create services"), (4, "list pods"), (5, "pods/log"), (len(rules), None)):
        session.kubectl("apply", "-f", "-", stdin=json.dumps({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "fabric-tester"},
            "rules": [{"apiGroups": groups, "resources": kinds, "verbs": verbs} for groups, kinds, verbs in rules[:given]]}))
        time.sleep(1)  # the authorizer's watch
        if says:
            tester.run(4, says=f"not allowed: {says}" if "log" not in says else says, kubeconfig=path)
    return path


def absent(session, tester):
    """Nodes that could not come, each for its reason."""
    def state_of(*more):
        found = json.loads(tester.run(3, *OPTIONS, "-o", "json", "--wait", "20s", *more))
        return {one["node"]: one["state"] for one in found["untested"]}
    expect("without an image", set(state_of("--image", "nccl-env.test/none:1").values()), {"no image"})
    offer(session, "gpu-2", "0")
    expect("without devices", state_of()["gpu-2"], "busy")
    offer(session, "gpu-2", "8")
    session.kubectl("taint", "node", "gpu-2", "fabric=test:NoSchedule")
    expect("with a taint", state_of()["gpu-2"], "held")
    session.kubectl("taint", "node", "gpu-2", "fabric-")


def denied(session):
    """Pods whose Binding is refused stay away, and the test says so."""
    session.opt_in("fabric-deny", fabric={"hcas": ["none*"]}, onUnresolved="Deny")
    found = json.loads(Tester(session, "fabric-deny").run(3, *OPTIONS, "-o", "json", "--wait", "15s"))
    expect("where values are a condition", {one["state"] for one in found["untested"]}, {"held"})


def ended(tester):
    """Ctrl-C deletes; a command that is killed leaves a Job that ends, and goes, by itself."""
    command = tester.start()
    command.send_signal(signal.SIGINT)
    said, _ = command.communicate(timeout=60)
    expect("its exit code after Ctrl-C", command.returncode, 4)
    if "its Job is deleted" not in said:
        raise Failed(f"after Ctrl-C: {said}")
    tester.expect_gone()
    command = tester.start("--timeout", "15s", "--wait", "10s", "--kept", "5s")
    os.kill(command.pid, signal.SIGKILL)
    command.wait()
    begin = time.monotonic()
    tester.expect_gone()
    return f"gone {time.monotonic() - begin:.0f} s after kill -9"


def run(session):
    session.opt_in("fabric")
    node = Node(pathlib.Path(shutil.which("kubelet")).parent, session.state, 2)
    tester = Tester(session, "fabric")
    try:
        node.start(archives(session.state))
        offer(session, node.name, "8")
        refused(session, tester)
        with names(session, "fabric", {"gpu-1": ADDRESS, node.name: node.address}):
            begin = time.monotonic()
            together(tester)
            took = time.monotonic() - begin
            without_rights(session, tester)
            absent(session, tester)
            figures = ended(tester)
        denied(session)
    finally:
        node.stop()
        session.kubectl("delete", "node", node.name, "--ignore-not-found")
        session.kubectl("delete", "clusterrole,clusterrolebinding", "fabric-tester", "--ignore-not-found")
    session.clear("fabric", "fabric-plain", "fabric-deny")
    return f"two nodes without devices in {took:.0f} s, {figures}"
