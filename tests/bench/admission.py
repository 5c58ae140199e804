# SPDX-License-Identifier: Apache-2.0
"""What the soak sends and what it accepts as an answer: recorded reviews, a store of two versions, and a
keep-alive client that tells an unanswered request from a connection that it was told to give up."""
import base64
import collections
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
import uuid

import inputs
import servers

sys.path.insert(0, str(inputs.ROOT / "scripts"))
from demo_cluster import apply_patch, lines_of, resolve_env  # noqa: E402

PODS = ("plain", "deployment", "job-indexed", "statefulset", "daemonset")
BINDINGS = ("plain", "deployment", "job-indexed", "daemonset", "legacy-bindings-endpoint")
TENANTS = (("ml", "node-00000"), ("lab", "node-00001"))  # namespace, which has its own policy, and node
VERSIONS = ("first", "second")
CONSTANTS = {"first": inputs.CONSTANTS,
             "second": inputs.CONSTANTS | {"NCCL_IB_TIMEOUT": "20", "NCCL_IB_RETRY_CNT": "6", "NCCL_IB_TC": "41"}}
GID_INDEX = {"first": "3", "second": "5"}
HCAS = {"first": 8, "second": 4}
UID = "00000000-0000-0000-0000-000000000000"
REPLY_SECONDS = 30


class Failed(Exception):
    """What ends the run with exit code 1; the text is the case."""


def manifests(version):
    """One List, so that one rename changes policies and tables at once: a mix is then the webhook's doing."""
    items = []
    for number, (namespace, _) in enumerate(TENANTS):
        policy = inputs.policy(namespace)
        policy["spec"] |= {"env": CONSTANTS[version], "socketInterface": f"eth{number}"}
        policy["spec"]["fabric"] = {"hcas": [f"mlx5_[1-{HCAS[version]}]"], "expectPorts": HCAS[version]}
        label = {"labels": {"nccl-env.io/policy": namespace}}
        table = inputs.table(number)
        for port in table["observed"]["ports"]:
            port["gidRows"][3] = GID_INDEX[version] + port["gidRows"][3].removeprefix("3")
        items += [policy, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace} | label}, table]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def put_store(directory, version):
    inputs.write_json(directory / ".new", manifests(version))
    os.replace(directory / ".new", directory / "manifests.json")


class Pki:
    """Two certificates; tls.crt and tls.key lead through ..data, as the kubelet mounts a Secret."""

    def __init__(self, directory):
        self.directory = directory
        self.trust = ssl.create_default_context()
        for version in VERSIONS:
            made = directory / f"..{version}"
            made.mkdir(parents=True)
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                            "-nodes", "-days", "2", "-subj", "/CN=soak", "-addext", "subjectAltName=IP:127.0.0.1",
                            "-keyout", made / "tls.key", "-out", made / "tls.crt"], check=True, capture_output=True)
            self.trust.load_verify_locations(made / "tls.crt")
        self.use("first")
        for name in ("tls.crt", "tls.key"):
            (directory / name).symlink_to(f"..data/{name}")

    def use(self, version):
        (self.directory / "..new").symlink_to(f"..{version}")
        os.replace(self.directory / "..new", self.directory / "..data")


class Webhook(servers.Server):
    """The program as it is deployed: a thread per CPU, certificate files, a line per decision to a pipe."""

    def __init__(self, program, directory, pki, *more):
        self.ops = servers.free_port()
        port = servers.free_port()
        super().__init__("webhook", [program, "--store", f"dir:{directory / 'store'}",
                                     "--listen", f"127.0.0.1:{port}", "--ops-listen", f"127.0.0.1:{self.ops}",
                                     "--tls-cert", pki.directory / "tls.crt",
                                     "--tls-key", pki.directory / "tls.key", "--drain-grace", "5s", *more],
                         port, start_limit=10, cpu=None, log=subprocess.PIPE)
        self.decisions = self.dropped = self.bound_mib = 0
        self.complaints = collections.deque(maxlen=5)
        self.reader = threading.Thread(target=self.read_log, daemon=True)
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        self.reader.join()

    def read_log(self):
        for line in self.process.stderr:
            if b'"msg":"decision"' in line:
                self.decisions += 1
            elif b'"msg":"memory"' in line:
                self.bound_mib = int(json.loads(line)["bound"].split()[0])
            elif b'"msg":"log lines dropped"' in line:
                self.dropped += json.loads(line)["count"]
            elif b'"level":"info"' not in line:
                self.complaints.append(line.decode(errors="replace").rstrip())

    def metric(self, name):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{self.ops}/metrics", timeout=10) as reply:
            lines = reply.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


class Review:
    """One recorded request of one tenant, and the objects that its answer may lead to."""

    def __init__(self, name, body):
        self.name, self.object = name, body["request"]["object"]
        body["request"]["uid"] = UID
        self.head, self.tail = json.dumps(body, separators=(",", ":")).encode().split(UID.encode())
        self.known = {}  # version: the object after its patch
        self.seen = {}  # patch: the version that it leads to

    def bytes(self, uid):
        body = self.head + uid.encode() + self.tail
        return (b"POST /admit?timeout=10s HTTP/1.1\r\nHost: webhook\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n" % len(body)) + body

    def changed(self, reply, uid):
        """The patch of an answer that is sound in all else."""
        response = json.loads(reply.body).get("response", {}) if reply.status == 200 else {}
        if response.get("uid") != uid or not response.get("allowed") or response.get("patchType") != "JSONPatch":
            raise Failed(f"{self.name}, uid {uid}: status {reply.status}, {reply.body[:2000]!r}")
        return response["patch"]

    def patched(self, patch):
        return apply_patch(self.object, json.loads(base64.b64decode(patch, validate=True)))

    def version(self, reply, uid):
        """Applies every patch that it has not met yet."""
        patch = self.changed(reply, uid)
        if patch not in self.seen:
            result = self.patched(patch)
            found = [version for version in VERSIONS if self.known[version] == result]
            if not found:
                raise Failed(f"{self.name}, uid {uid}: of neither version: {json.dumps(result)}")
            self.seen[patch] = found[0]
        return self.seen[patch]

    def learn(self, version, reply, uid):
        """From a server that has known one version only; what is sure beforehand is checked here."""
        result = self.known[version] = self.patched(self.changed(reply, uid))
        if "spec" in result and "containers" in result["spec"]:
            env = resolve_env(result, result["spec"]["containers"][0])
            sound = CONSTANTS[version].items() <= env.items()
        else:
            text = result["metadata"]["annotations"]["hostnetwork.nccl-env.io/nccl.conf"]
            values = lines_of(text)
            sound = (values.get("NCCL_IB_GID_INDEX"), values.get("NCCL_IB_HCA", "").count("mlx5")) == \
                (GID_INDEX[version], HCAS[version])
        if not sound:
            raise Failed(f"{self.name}: not the {version} version: {json.dumps(result)}")


def reviews():
    """Pods and Bindings in turn."""
    made = []
    for namespace, node in TENANTS:
        for pod_name, binding_name in zip(PODS, BINDINGS):
            pod = inputs.recorded(f"pod-create-{pod_name}.json")
            pod["request"]["object"]["spec"]["containers"][0]["resources"] = {
                "limits": {inputs.RESOURCE: "1"}, "requests": {inputs.RESOURCE: "1"}}
            binding = inputs.recorded(f"binding-{binding_name}.json")
            binding["request"]["object"]["target"]["name"] = node
            for kind, name, body in (("pod", pod_name, pod), ("binding", binding_name, binding)):
                body["request"]["namespace"] = body["request"]["object"]["metadata"]["namespace"] = namespace
                made.append(Review(f"{namespace}/{kind}-{name}", body))
    return made


def learn_versions(program, directory, pki):
    """The reviews with what each of the two stores makes of them, from a server of its own for each."""
    made = reviews()
    (directory / "store").mkdir()
    for version in VERSIONS:
        put_store(directory / "store", version)
        with Webhook(program, directory, pki) as server:
            connection = Connection(server.port, pki.trust)
            for review in made:
                uid = str(uuid.uuid4())
                review.learn(version, connection.ask(review.bytes(uid)), uid)
            connection.close()
    for review in made:
        if review.known["first"] == review.known["second"]:
            raise Failed(f"{review.name}: both versions are the same")
    put_store(directory / "store", "first")
    return made


class Reply:
    def __init__(self, status, close, body):
        self.status, self.close, self.body = status, close, body


class Connection:
    """Keep-alive over TLS, one request at a time."""

    def __init__(self, port, trust, address="127.0.0.1"):
        plain = socket.create_connection(("127.0.0.1", port), REPLY_SECONDS, (address, 0))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.tls = trust.wrap_socket(plain, server_hostname="127.0.0.1")
        self.serial = self.tls.getpeercert()["serialNumber"]
        self.replies = 0

    def ask(self, request):
        begin = time.monotonic()
        received = b""
        try:
            self.tls.sendall(request)
            while b"\r\n\r\n" not in received:
                received += self.more()
            head, _, body = received.partition(b"\r\n\r\n")
            fields = head.decode("latin-1").lower().split("\r\n")
            length = next(int(field.split(":")[1]) for field in fields if field.startswith("content-length:"))
            while len(body) < length:
                body += self.more()
        except OSError as error:
            raise Failed(f"no answer to request {self.replies + 1} of a connection after"
                         f" {time.monotonic() - begin:.2f} s and {len(received)} bytes: {error!r}") from error
        if len(body) > length:
            raise Failed(f"{len(body) - length} bytes after a reply")
        self.replies += 1
        return Reply(int(fields[0].split()[1]), "connection: close" in fields, body)

    def more(self):
        received = self.tls.recv(65536)
        if not received:
            raise ConnectionError("closed by the server")
        return received

    def expect_end(self):
        """After a reply that said Connection: close."""
        try:
            rest = self.tls.recv(1)
        except OSError as error:
            raise Failed(f"a connection that was told to close did not end well: {error!r}") from error
        if rest:
            raise Failed("bytes after the last reply")

    def close(self):
        self.tls.close()
