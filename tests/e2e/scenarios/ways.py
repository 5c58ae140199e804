# SPDX-License-Identifier: Apache-2.0
"""The less common ways to a bound pod."""
import base64
import http.server
import json
import ssl
import threading
import time

from objects import HCA, annotations_of, env_of, expect, expect_in, hca_list, ours, pod, policy, table
from process import Failed, eventually

NAME = "4 ways: legacy and annotated Bindings, a later webhook, dry run, spec.nodeName, scheduling gates, a vast pod"
HOOK_SECONDS = {"pod": 5, "binding": 3}  # timeoutSeconds of the shipped hooks
RAILS, LATER = ["mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4"], ["mlx5_3", "mlx5_4"]


def check_bindings(cluster):
    api = cluster.api
    for name, how in {"legacy": {"legacy": True}, "volcano": {"annotations": {
            "example.com/keep": "1", HCA: "=stale", "host.nccl-env.io/NCCL_IB_ADDR_RANGE": "9.9.9.0/24"}}}.items():
        api.create(pod("ways", name, schedulerName="none"))
        api.bind("ways", name, "node-a", **how)
        bound = api.get("Pod", "ways", name)
        expect(f"HCA list after a Binding ({name})", env_of(bound)["NCCL_IB_HCA"], hca_list(RAILS))
    expect("the Binding's own annotation", annotations_of(bound).get("example.com/keep"), "1")
    if "9.9.9.0/24" in json.dumps(annotations_of(bound)):
        raise Failed("a value of another node travelled with the Binding")


class LateWebhook:
    """A mutating webhook after ours that adds the RDMA resource."""

    def __init__(self, plane):
        certificate, key = plane.pki.issue("late", "late", addresses=("IP:127.0.0.1",))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
                asked = {"limits": {"rdma/hca": "1"}, "requests": {"rdma/hca": "1"}}
                patch = [{"op": "add", "path": "/spec/containers/0/resources", "value": asked}]
                reply = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {
                    "uid": request["uid"], "allowed": True, "patchType": "JSONPatch",
                    "patch": base64.b64encode(json.dumps(patch).encode()).decode()}}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        plane.api.create({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "zz-late"},
            "webhooks": [{"name": "late.e2e.nccl-env.io", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                          "failurePolicy": "Fail", "objectSelector": {"matchLabels": {"late": "yes"}},
                          "clientConfig": {"url": f"https://127.0.0.1:{self.server.server_port}/",
                                           "caBundle": base64.b64encode(plane.pki.ca.read_bytes()).decode()},
                          "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                                     "resources": ["pods"]}]}]})


def check_late_webhook(cluster):
    api, late = cluster.api, LateWebhook(cluster.plane)
    try:
        eventually("the later webhook is called", lambda: cluster.would_be(
            pod("ways", "probe", labels={"late": "yes"}, rdma=False))["spec"]["containers"][0]["resources"])
        made = api.create(pod("ways", "late", labels={"late": "yes"}, rdma=False, node="node-a"))
        expect("what the later webhook added", made["spec"]["containers"][0]["resources"]["limits"], {"rdma/hca": "1"})
        expect("HCA list of a pod that a later webhook made ours", env_of(cluster.bound("ways", "late"))["NCCL_IB_HCA"],
               hca_list(RAILS))
    finally:
        api.delete("MutatingWebhookConfiguration", None, "zz-late")
        late.server.shutdown()


def check_dry_run(cluster):
    made = cluster.api.create(pod("ways", "dry", node="node-a"), "?dryRun=All")
    expect_in("env of a dry run", [entry["name"] for entry in made["spec"]["containers"][0]["env"]], "NCCL_IB_HCA")
    if "dry" in [some["metadata"]["name"] for some in cluster.api.list("Pod", "ways")]:
        raise Failed("a dry run left a pod")
    told = [entry for replica in cluster.webhooks.replicas.values() for entry in replica.decisions()
            if entry.get("pod") == "dry"]
    expect("dry_run of its decision", [entry["dry_run"] for entry in told], [True])


def check_node_name(cluster):
    """A pod that names its node is never bound: the values come at CREATE."""
    made = cluster.api.create(pod("ways", "placed", nodeName="node-a", annotations={HCA: "=another-node"}))
    expect("HCA list of a placed pod", env_of(made)["NCCL_IB_HCA"], hca_list(RAILS))


def vast_pod(**labels):
    """As large as docs/server.md lets a pod be that gets values: each container takes four operations of 1 000."""
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
    made = api.create(pod("ways", "gated", node="node-a", schedulingGates=[{"name": "e2e.nccl-env.io/hold"}]))
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


def run(cluster):
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
    cluster.clear("ways")
    return figures
