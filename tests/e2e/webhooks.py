# SPDX-License-Identifier: Apache-2.0
"""The webhook's replicas as host processes: the arguments of the Deployment in the cluster, the token of its
service account, and ports of their own."""
import base64
import http.client
import json
import re
import signal
import ssl
import urllib.error
import urllib.request

import kubelet
from process import PATIENCE, Failed, Process, eventually

SECRET = ("nccl-env", "nccl-env-webhook-tls")  # of their certificates: namespace and name


class Replica(Process):
    def listening(self):
        """Its ports, once it has said them."""
        for line in self.said().splitlines():
            if '"listening"' in line and line.startswith("{"):
                return json.loads(line)
        self.expect_alive()
        return None

    def ops(self, path):
        """Code and text of an answer on its second port."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['ops_port']}{path}", timeout=PATIENCE) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, ""
        except OSError:
            return 0, ""

    def is_ready(self):
        self.expect_alive()
        return self.ops("/readyz")[0] == 200

    def binding_annotations(self, namespace, node, authority):
        """What it puts on a Binding to this node, asked without an API server between."""
        metadata = {"name": "probe", "namespace": namespace, "uid": "probe"}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "probe", "kind": {"group": "", "version": "v1", "kind": "Binding"},
            "resource": {"group": "", "version": "v1", "resource": "pods"}, "subResource": "binding",
            "name": "probe", "namespace": namespace, "operation": "CREATE", "dryRun": True,
            "userInfo": {"username": "e2e"}, "oldObject": None, "options": None,
            "object": {"apiVersion": "v1", "kind": "Binding", "metadata": metadata,
                       "target": {"kind": "Node", "name": node}}}}
        context = ssl.create_default_context(cadata=authority)
        connection = http.client.HTTPSConnection("127.0.0.1", self.ports["admission_port"], context=context,
                                                 timeout=PATIENCE)
        connection.request("POST", "/admit?timeout=3s", json.dumps(review), {"Content-Type": "application/json"})
        response = json.loads(connection.getresponse().read())["response"]
        connection.close()
        patch = json.loads(base64.b64decode(response.get("patch", "W10=")))
        return {key: value for step in patch if step["path"] == "/metadata/annotations"
                for key, value in step["value"].items()}

    def certificate(self):
        """What a new connection is shown, as PEM."""
        return ssl.get_server_certificate(("127.0.0.1", self.ports["admission_port"]))

    def decisions(self):
        """Its log's lines on reviews that it answered."""
        return [entry for entry in map(json.loads, filter(lambda line: line.startswith("{"), self.said().splitlines()))
                if entry["msg"] == "decision"]


class Webhooks:
    def __init__(self, program, plane, balancer, directory):
        self.program, self.plane, self.balancer, self.directory = program, plane, balancer, directory
        self.replicas, self.lifetimes = {}, ()

    def command(self):
        container = self.plane.api.get("Deployment", "nccl-env", "nccl-env-webhook")["spec"]["template"]["spec"][
            "containers"][0]
        token = self.directory / "webhook.token"
        token.write_text(self.plane.token("nccl-env-webhook"))
        kubeconfig = self.plane.write_kubeconfig("webhook", token_file=token)
        return [self.program, *kubelet.arguments(container), *self.lifetimes, "--kubeconfig", kubeconfig, "--listen",
                "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"]

    def start(self, name):
        if name in self.replicas:
            self.replicas[name].start()
        else:
            self.replicas[name] = Replica(name, self.command(), self.directory / f"{name}.log")
        replica = self.replicas[name]
        replica.ports = eventually(f"{name} listens", replica.listening)
        eventually(f"{name} is ready", replica.is_ready)
        self.balancer.put(name, replica.ports["admission_port"])

    def end(self, name, number=signal.SIGTERM):
        """As a pod ends: endpoints first, then the signal. SIGKILL: without a word to anybody."""
        if number == signal.SIGTERM:
            self.balancer.remove(name)
        code = self.replicas[name].end(number, limit=130)
        self.balancer.remove(name)
        if number == signal.SIGTERM and code != 0:
            raise Failed(f"{name} ended with {code} after SIGTERM")

    def issue_anew(self, *lifetimes):
        """Ends all replicas and starts them again without the certificates of before; with these options, or as they
        are in production."""
        names = list(self.replicas)
        for name in names:
            self.end(name, signal.SIGKILL)
            del self.replicas[name]
        self.plane.api.merge("Secret", *SECRET, {"data": None})
        self.lifetimes = lifetimes
        for name in names:
            self.start(name)

    def secret(self):
        """What the replicas share: names and PEM."""
        data = self.plane.api.get("Secret", *SECRET).get("data", {})
        return {key: base64.b64decode(value).decode() for key, value in data.items()}

    def metric(self, name, **labels):
        """Summed over replicas and over the series with these labels."""
        total = 0.0
        for replica in self.replicas.values():
            if not replica.alive():
                continue
            for line in replica.ops("/metrics")[1].splitlines():
                found = re.fullmatch(re.escape(name) + r"(?:\{(.*)\})? (\S+)", line)
                if found and all(f'{key}="{value}"' in (found[1] or "") for key, value in labels.items()):
                    total += float(found[2])
        return total

    def stop(self):
        for replica in self.replicas.values():
            replica.end(signal.SIGKILL)
