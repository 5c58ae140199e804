# SPDX-License-Identifier: Apache-2.0
"""etcd, kube-apiserver, kube-scheduler and kube-controller-manager on loopback, with nodes that no kubelet serves."""
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from api import Api, Refused
from pki import Pki
from process import Failed, Process, eventually, free_port

# Room for all pods of a scenario, however many it makes until something has happened.
NODE_RESOURCES = {"cpu": "64", "memory": "256Gi", "pods": "100000", "nvidia.com/gpu": "8", "rdma/hca": "100000"}
SECURITY = pathlib.Path(__file__).resolve().parents[2] / "docs/operate/security.md"


class ControlPlane:
    def __init__(self, binaries, directory, webhook):
        """`webhook`: HOST:PORT of the hooks, which get a certificate of the API server if they ask for one."""
        self.binaries, self.directory, self.webhook = pathlib.Path(binaries), pathlib.Path(directory), webhook
        self.pki = Pki(self.directory / "pki")
        self.port = free_port()
        kubectl = self.binaries / "kubectl"
        self.kubectl_program = kubectl if kubectl.exists() else pathlib.Path(shutil.which("kubectl"))
        # nccl-env runs the same kubectl.
        os.environ["PATH"] = f"{self.kubectl_program.parent}:{os.environ['PATH']}"
        self.parts = []
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def start(self):
        server = self.pki.issue("apiserver", "kube-apiserver", addresses=(
            "IP:127.0.0.1", "IP:10.96.0.1", "DNS:localhost", "DNS:kubernetes.default.svc"))
        self.admin = self.pki.issue("admin", "e2e-admin", "system:masters")
        self.client = self.pki.issue("webhooks", "kube-apiserver")
        self.start_etcd()
        self.start_apiserver(server)
        self.api = Api(self.port, self.pki.ca, self.admin)
        self.kubeconfig = self.write_kubeconfig("admin", self.admin)
        self.wait_ready()
        self.start_controllers()
        self.version = self.api.request("GET", "/version")["gitVersion"]

    def run_part(self, name, *arguments):
        # The Go runtime of each part would take both processors for collecting garbage.
        part = Process(name, [self.binaries / name, *arguments], self.directory / f"{name}.log",
                       env={**os.environ, "GOGC": "200"})
        self.parts.append(part)
        return part

    def start_etcd(self):
        client, peer = free_port(), free_port()
        self.etcd_url = f"http://127.0.0.1:{client}"
        self.etcd = self.run_part(
            "etcd", f"--data-dir={self.directory}/etcd", f"--listen-client-urls={self.etcd_url}",
            f"--advertise-client-urls={self.etcd_url}", f"--listen-peer-urls=http://127.0.0.1:{peer}",
            f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
            f"--initial-cluster=default=http://127.0.0.1:{peer}",
            # The data lives as long as the test. An hour of chaos writes 3 GB, and API servers that are restarted all
            # the time compact nothing.
            "--unsafe-no-fsync", "--log-level=warn", f"--quota-backend-bytes={16 << 30}")

    def admission_config(self):
        """The two files of docs/operate/security.md that make the API server show the hooks a certificate."""
        config, kubeconfig = re.findall(r"```yaml\n((?:(?!```).)*kind: (?:AdmissionConfiguration|Config)\n.*?)```",
                                        SECURITY.read_text(), re.S)
        here = str(self.pki.directory)
        for name, text in (("admission.yaml", config), ("webhooks.kubeconfig", kubeconfig)):
            text = text.replace("/etc/kubernetes/nccl-env", here).replace("nccl-env-webhook.nccl-env.svc", self.webhook)
            (self.pki.directory / name).write_text(text)
        return self.pki.directory / "admission.yaml"

    def audit_policy(self):
        """Logs which hook changed a create or let it pass, for pods and Bindings of the scenario chaos."""
        path = self.directory / "audit.yaml"
        path.write_text(json.dumps({
            "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
            "rules": [{"level": "Metadata", "verbs": ["create"], "namespaces": ["chaos"],
                       "resources": [{"group": "", "resources": ["pods", "pods/binding"]}]}, {"level": "None"}]}))
        return path

    def start_apiserver(self, server):
        pki = self.pki
        self.apiserver = self.run_part(
            "kube-apiserver", f"--etcd-servers={self.etcd_url}", "--bind-address=127.0.0.1",
            f"--secure-port={self.port}", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
            f"--tls-cert-file={server[0]}", f"--tls-private-key-file={server[1]}", f"--client-ca-file={pki.ca}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki.service_account_key}",
            f"--service-account-signing-key-file={pki.service_account_key}",
            "--service-cluster-ip-range=10.96.0.0/16", "--authorization-mode=Node,RBAC",
            # Nodes without a kubelet would keep the taint that the first plugin gives to new ones.
            "--disable-admission-plugins=TaintNodesByCondition", "--enable-admission-plugins=NodeRestriction,AlwaysPullImages",
            f"--admission-control-config-file={self.admission_config()}", "--max-requests-inflight=1000",
            f"--audit-policy-file={self.audit_policy()}", f"--audit-log-path={self.directory}/audit.log",
            "--audit-log-maxsize=100", "--audit-log-maxbackup=1",
            "--max-mutating-requests-inflight=500", "--event-ttl=1h")

    def start_controllers(self):
        for name, arguments in {
            "kube-scheduler": ["--kube-api-qps=1000", "--kube-api-burst=1000"],
            # Without the first two, which would taint nodes that send no heartbeat.
            "kube-controller-manager": ["--controllers=*,-node-lifecycle-controller,-taint-eviction-controller",
                                        f"--service-account-private-key-file={self.pki.service_account_key}",
                                        "--use-service-account-credentials", "--kube-api-qps=500",
                                        "--kube-api-burst=500"],
        }.items():
            kubeconfig = self.write_kubeconfig(name, self.pki.issue(name, f"system:{name}"))
            self.run_part(name, f"--kubeconfig={kubeconfig}", f"--authentication-kubeconfig={kubeconfig}",
                          f"--authorization-kubeconfig={kubeconfig}", "--bind-address=127.0.0.1",
                          f"--secure-port={free_port()}", "--leader-elect=false", *arguments)

    def is_ready(self):
        for part in self.parts:
            part.expect_alive()
        try:
            # The body says "ok" for single checks while others still fail: the code counts.
            connection = self.api.connect()
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False

    def wait_ready(self):
        eventually("kube-apiserver is ready", self.is_ready)

    def restart_apiserver(self, number=signal.SIGTERM):
        self.apiserver.end(number, limit=2)  # it would wait a minute for watches
        self.apiserver.start()

    def let_pass(self, offset=0):
        """The API server's reasons for requests that passed without a hook, from this byte of its log on: counts."""
        with self.apiserver.log.open(errors="replace") as log:
            log.seek(offset)
            found = re.findall(r'failing open \S+: failed calling webhook .*": (.*?)"?$', log.read(), re.M)
        return {re.sub(r"127\.0\.0\.1:\d+(->)?", "", reason): count
                for reason, count in collections.Counter(found).most_common(8)}

    def write_kubeconfig(self, name, certificate=None, token_file=None, port=None, namespace="default"):
        """For the API server, or for a proxy of it at `port`; in this namespace, as a pod of it."""
        user = ({"client-certificate": str(certificate[0]), "client-key": str(certificate[1])} if certificate
                else {"tokenFile": str(token_file)})
        path = self.directory / f"{name}.kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "e2e",
            "clusters": [{"name": "e2e", "cluster": {"server": f"https://127.0.0.1:{port or self.port}",
                                                     "certificate-authority": str(self.pki.ca)}}],
            "users": [{"name": "e2e", "user": user}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e", "namespace": namespace}}]}))
        return path

    def kubectl(self, *arguments, check=True, stdin=None):
        """Returns the output; with `check` false, the exit code, and output and errors together."""
        done = subprocess.run([self.kubectl_program, "--kubeconfig", self.kubeconfig, *map(str, arguments)],
                              capture_output=True, text=True, input=stdin)
        if not check:
            return done.returncode, done.stdout + done.stderr
        if done.returncode:
            raise Failed(f"kubectl {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def add_node(self, name, labels=None):
        self.api.create({"apiVersion": "v1", "kind": "Node",
                         "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}}})
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.api.merge("Node", None, name, {"status": {
            "capacity": NODE_RESOURCES, "allocatable": NODE_RESOURCES,
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": name}],
            "conditions": [{"type": "Ready", "status": "True", "reason": "E2e", "message": "no kubelet",
                            "lastHeartbeatTime": now, "lastTransitionTime": now}]}}, "status")

    def add_namespace(self, name, labels=None):
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels or {}}})

        def has_account():  # pods are refused before the controller has made it
            try:
                return self.api.request("GET", f"/api/v1/namespaces/{name}/serviceaccounts/default")
            except Refused:
                return None
        eventually(f"namespace {name} has its service account", has_account)

    def token(self, account, namespace="nccl-env", pod=None):
        bound = ["--bound-object-kind", "Pod", "--bound-object-name", pod] if pod else []
        # The default of an hour may be less than all scenarios take.
        return self.kubectl("create", "token", account, "-n", namespace, "--duration=24h", *bound).strip()

    def stop(self):
        for part in reversed(self.parts):
            part.end(limit=10 if part is self.etcd else 3)
