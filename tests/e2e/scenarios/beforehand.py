# SPDX-License-Identifier: Apache-2.0
"""What a tenant asks the cluster with `edit` of its own namespace: would my pods get values, and did NCCL use them?"""
import http.server
import json
import ssl
import subprocess
import threading
import urllib.parse

from objects import HCA, expect, expect_in, hca_list, pod, policy, table
from process import PATIENCE, Failed, eventually

NAME = "14 beforehand: check --namespace, and verify with a pod's log, as a tenant"
RAILS = ["mlx5_1", "mlx5_2"]
LOG = """starting

node-k:1:1 [0] NCCL INFO NCCL_IB_HCA set to =mlx5_1,mlx5_2
node-k:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_1:1/RoCE [1]mlx5_2:1/RoCE [RO]; OOB eth0:10.1.2.3<0>
node-k:1:1 [0] NCCL INFO Using network IB
"""


class Kubelet:
    """As much of one as the API server asks for a log."""

    def __init__(self, plane):
        certificate, key = plane.pki.issue("kubelet", "kubelet", addresses=("IP:127.0.0.1",))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.asked = asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                url = urllib.parse.urlsplit(self.path)
                asked.append((url.path, dict(urllib.parse.parse_qsl(url.query))))
                self.send_response(200)
                self.send_header("Content-Type", "text/plain")
                self.end_headers()
                self.wfile.write(LOG.encode())

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()


class Tenant:
    def __init__(self, cluster, name, role):
        self.cluster = cluster
        cluster.kubectl("create", "serviceaccount", name, "-n", "asked")
        if role:
            cluster.kubectl("create", "rolebinding", name, "-n", "asked", f"--clusterrole={role}",
                            f"--serviceaccount=asked:{name}")
        token = cluster.directory / f"{name}.token"
        token.write_text(cluster.plane.token(name, "asked"))
        self.kubeconfig = cluster.plane.write_kubeconfig(name, token_file=token)

    def __call__(self, *arguments):
        """The exit code, and all that was said, on one line."""
        done = subprocess.run([self.cluster.programs / "nccl-env", *arguments, "--kubeconfig", self.kubeconfig],
                              capture_output=True, text=True, timeout=PATIENCE)
        return done.returncode, " ".join((done.stdout + done.stderr).split())


def checked(ask, code, *parts):
    """Asks until the answer is this one: quotas and policies come into force a moment after they are made."""
    def answered():
        found, text = ask("check", "--namespace", "asked", "--resource", "rdma/hca")
        return found == code and all(part in text for part in parts) and text
    try:
        return eventually(f"check says {parts}", answered, pause=0.3)
    except Failed as failed:
        raise Failed(f"{failed}: {ask('check', '--namespace', 'asked', '--resource', 'rdma/hca')}") from None


def refusing(name, expression):
    """A ValidatingAdmissionPolicy on pods, and its binding to this namespace."""
    kind = {"apiVersion": "admissionregistration.k8s.io/v1"}
    return [{**kind, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
                                                        "operations": ["CREATE"], "resources": ["pods"]}]},
                "validations": [{"expression": expression, "message": f"{name} says no"}]}},
            {**kind, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": {
                "policyName": name, "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "asked"}}}}}]


class Applied:
    """Manifests that are there for a while."""

    def __init__(self, cluster, *manifests):
        self.cluster, self.text = cluster, json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})

    def __enter__(self):
        self.cluster.kubectl("apply", "-f", "-", stdin=self.text)

    def __exit__(self, *_):
        self.cluster.kubectl("delete", "-f", "-", "--wait=true", stdin=self.text)


def own(kind, name, spec):
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "asked"}, "spec": spec}


def check_pods(cluster, ask):
    checked(ask, 0, "its pods can get what the policy wants", "admitted form Binding, exposure Host",
           "NCCL_IB_HCA (File)")
    with Applied(cluster, own("ResourceQuota", "full", {"hard": {"pods": "0"}})):
        checked(ask, 1, "exceeded quota: full", "by a ResourceQuota, without nccl-env, too")
    with Applied(cluster, own("LimitRange", "small", {"limits": [{"type": "Container", "max": {"cpu": "500m"}}]})):
        checked(ask, 1, "maximum cpu usage per Container is 500m", "by a LimitRange, without nccl-env, too")
    checked(ask, 0, "its pods can get")
    cluster.kubectl("label", "namespace", "asked", "pod-security.kubernetes.io/enforce=restricted")
    checked(ask, 0, "its pods can get")
    with Applied(cluster, *refusing("marked", "!has(object.metadata.annotations) || "
                                              "!('nccl-env.io/status' in object.metadata.annotations)")):
        checked(ask, 1, "marked says no", "what nccl-env adds to the pod is refused by a ValidatingAdmissionPolicy",
               "the same pod would be admitted", "nccl-env.io/resolve=Binding")
    # Form Binding adds no image, so that a policy of images refuses nothing of ours.
    def elsewhere():
        return ask("check", "--namespace", "asked", "--resource", "rdma/hca", "--image", "elsewhere/x:1")
    known = "all(c, c.image.startsWith('registry.k8s.io/'))"
    with Applied(cluster, *refusing("images", f"object.spec.containers.{known} && (!has(object.spec.initContainers) || "
                                              f"object.spec.initContainers.{known})")):
        eventually("the policy of images is in force", lambda: "images says no" in elsewhere()[1], pause=0.3)
        checked(ask, 0, "its pods can get", "no init container")
    eventually("the policy of images is gone", lambda: elsewhere()[0] == 0, pause=0.3)
    check_images_at_start(cluster, ask, known)
    code, text = ask("check", "--namespace", "asked")
    expect("code for a tenant who may not read policies", code, 4)
    expect_in("what it says", text, "not allowed: get ncclpolicies.nccl-env.io asked", "give one with --resource")


def check_images_at_start(cluster, ask, known):
    """The init container brings our image, which a namespace may refuse."""
    cluster.put_policy(policy("asked", match={"resources": [{"name": "rdma/hca*", "exposure": "PodOwned"}]}))
    checked(ask, 0, "admitted form ContainerStart", "has the init container nccl-env-resolve", "NCCL_IB_HCA (Pod)")
    with Applied(cluster, *refusing("images", "!has(object.spec.initContainers) || "
                                              f"object.spec.initContainers.{known}")):
        checked(ask, 1, "images says no", "what nccl-env adds to the pod is refused by a ValidatingAdmissionPolicy",
               "the same pod would be admitted", "nccl-env.io/resolve=Binding")
        cluster.api.merge("Namespace", None, "asked", {"metadata": {"labels": {"nccl-env.io/resolve": "Binding"}}})
        checked(ask, 0, "admitted form Constants", "no init container")
        cluster.api.merge("Namespace", None, "asked", {"metadata": {"labels": {"nccl-env.io/resolve": None}}})
    cluster.put_policy(policy("asked"))


def check_verify(cluster, ask, nobody):
    kubelet = Kubelet(cluster.plane)
    cluster.plane.add_node("node-k")
    try:
        cluster.api.merge("Node", None, "node-k", {"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.server.server_port}}}}, "status")
        cluster.api.apply(table("node-k", RAILS))
        cluster.follows("asked", "node-k", HCA, hca_list(RAILS))
        cluster.kubectl("label", "namespace", "asked", "pod-security.kubernetes.io/enforce-")
        cluster.api.create(pod("asked", "train", nodeName="node-k"))
        code, text = ask("verify", "pod/train", "-n", "asked", "--previous")
        expect_in("verify pod/train", text, "3 of 5 lines are known here", 'used NCCL_IB_HCA="=mlx5_1,mlx5_2"', "line 3")
        expect("its exit code", code, 0)
        path, query = kubelet.asked[-1]
        expect("what the kubelet was asked", (path, query.get("limitBytes"), query.get("previous")),
               ("/containerLogs/asked/train/train", str(64 << 20), "true"))
        code, text = nobody("verify", "pod/train", "-n", "asked")
        expect("exit code without rights", code, 4)
        expect_in("what is said then", text, "nccl-env: not allowed: get pods asked/train")
    finally:
        kubelet.stop()
        cluster.api.delete("Node", None, "node-k")


def run(cluster):
    cluster.api.apply(table("node-a", RAILS))
    cluster.put_policy(policy("asked"))
    cluster.opt_in("asked", "asked")
    ask, nobody = Tenant(cluster, "editor", "edit"), Tenant(cluster, "nobody", None)
    check_pods(cluster, ask)
    check_verify(cluster, ask, nobody)
    cluster.clear("asked")
