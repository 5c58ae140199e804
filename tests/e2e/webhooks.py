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

from objects import arguments
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

    def ask(self, resource, manifest, authority=None, client=None):
        """The replica's patch for the create of this object (`resource`: pods, pods/binding), asked without an API
        server. `client`: a certificate other than the API server's; (): none. `authority`: the CA that the
        replica's own certificate has to be of."""
        metadata, (resource, _, subresource) = manifest["metadata"], resource.partition("/")
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "probe", "kind": {"group": "", "version": "v1", "kind": manifest["kind"]},
            "resource": {"group": "", "version": "v1", "resource": resource},
            **({"subResource": subresource} if subresource else {}), "name": metadata["name"],
            "namespace": metadata["namespace"], "operation": "CREATE", "dryRun": True,
            "userInfo": {"username": "e2e"}, "oldObject": None, "options": None, "object": manifest}}
        context = ssl.create_default_context(cadata=authority) if authority else ssl._create_unverified_context()
        if client != ():
            context.load_cert_chain(*(client or self.client))
        connection = http.client.HTTPSConnection("127.0.0.1", self.ports["admission_port"], context=context,
                                                 timeout=PATIENCE)
        connection.request("POST", "/admit?timeout=3s", json.dumps(review), {"Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return json.loads(base64.b64decode(answer["response"].get("patch", "W10=")))

    def binding_annotations(self, namespace, node, authority=None, client=None):
        """The annotations that the replica puts on a Binding to this node."""
        patch = self.ask("pods/binding", {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "probe", "namespace": namespace, "uid": "probe"},
            "target": {"kind": "Node", "name": node}}, authority, client)
        return {key: value for step in patch if step["path"] == "/metadata/annotations"
                for key, value in step["value"].items()}

    def metric(self, name, **labels):
        """Summed over the series with these labels."""
        series = re.findall(rf"^{re.escape(name)}(?:\{{(.*)\}})? (\S+)$", self.ops("/metrics")[1], re.M)
        return sum(float(value) for found, value in series
                   if all(f'{key}="{wanted}"' in found for key, wanted in labels.items()))

    def certificate(self):
        """The certificate that a new connection gets, as PEM."""
        return ssl.get_server_certificate(("127.0.0.1", self.ports["admission_port"]))

    def decisions(self):
        """Its log's lines on reviews that it answered."""
        return [entry for entry in map(json.loads, filter(lambda line: line.startswith("{"), self.said().splitlines()))
                if entry["msg"] == "decision"]


class Webhooks:
    def __init__(self, program, plane, balancer, directory):
        self.program, self.plane, self.balancer, self.directory = program, plane, balancer, directory
        self.replicas, self.options = {}, ()
        self.ways = {}  # replica: port through which it reaches the API server, where it has one of its own

    def command(self, name):
        container = self.plane.api.get("Deployment", "nccl-env", "nccl-env-webhook")["spec"]["template"]["spec"][
            "containers"][0]
        token = self.directory / "webhook.token"
        token.write_text(self.plane.token("nccl-env-webhook"))
        kubeconfig = self.plane.write_kubeconfig(name, token_file=token, port=self.ways.get(name), namespace="nccl-env")
        return [self.program, *arguments(container), *self.options, "--kubeconfig", kubeconfig, "--listen",
                "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--log-level=debug"]  # with the lines of dry runs

    def start(self, name):
        if name in self.replicas:
            self.replicas[name].start()
        else:
            self.replicas[name] = Replica(name, self.command(name), self.directory / f"{name}.log")
        replica = self.replicas[name]
        replica.client = self.plane.client
        replica.ports = eventually(f"{name} listens", replica.listening)
        eventually(f"{name} is ready", replica.is_ready)
        self.balancer.put(name, replica.ports["admission_port"])

    def end(self, name, number=signal.SIGTERM):
        """As a pod ends: endpoints first, then the signal. SIGKILL: the signal first."""
        if number == signal.SIGTERM:
            self.balancer.remove(name)
        code = self.replicas[name].end(number, limit=130)
        self.balancer.remove(name)
        if number == signal.SIGTERM and code != 0:
            raise Failed(f"{name} ended with {code} after SIGTERM")

    def issue_anew(self, *options):
        """Ends all replicas and starts them again without their old certificates; with these options, or without any
        as in production."""
        names = list(self.replicas)
        for name in names:
            self.end(name, signal.SIGKILL)
            del self.replicas[name]
        self.plane.api.merge("Secret", *SECRET, {"data": None})
        self.options = options
        for name in names:
            self.start(name)

    def secret(self):
        """The Secret that the replicas share: names and PEM."""
        data = self.plane.api.get("Secret", *SECRET).get("data", {})
        return {key: base64.b64decode(value).decode() for key, value in data.items()}

    def metric(self, name, **labels):
        """Summed over replicas and over the series with these labels."""
        return sum(replica.metric(name, **labels) for replica in self.replicas.values() if replica.alive())

    def stop(self):
        for replica in self.replicas.values():
            replica.end(signal.SIGKILL)
