# SPDX-License-Identifier: Apache-2.0
"""A mutating hook that was built long ago: it reads a pod into the types of its time and writes it anew, so that fields it
does not know are gone (a patch of `replace`, as controllers make that marshal what they have read)."""
import base64
import http.server
import json
import ssl
import threading

CONTAINER = ("name image command args workingDir ports envFrom env resources volumeMounts livenessProbe readinessProbe "
             "lifecycle terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext stdin tty").split()
SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef")
VOLUMES = ("name", "hostPath", "emptyDir", "secret", "configMap", "downwardAPI", "projected", "persistentVolumeClaim")


def known(some, names):
    return {name: value for name, value in some.items() if name in names}


def entry_of(entry):
    entry = known(entry, ("name", "value", "valueFrom"))
    return {**entry, "valueFrom": known(entry["valueFrom"], SOURCES)} if "valueFrom" in entry else entry


def container_of(some):
    some = known(some, CONTAINER)
    return {**some, "env": [entry_of(entry) for entry in some["env"]]} if "env" in some else some


def rewritten(spec):
    for kind in ("initContainers", "containers"):
        if kind in spec:
            yield {"op": "replace", "path": f"/spec/{kind}", "value": [container_of(some) for some in spec[kind]]}
    if "volumes" in spec:
        yield {"op": "replace", "path": "/spec/volumes", "value": [known(some, VOLUMES) for some in spec["volumes"]]}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):  # noqa: N802
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
        self.server.asked += 1
        patch = base64.b64encode(json.dumps(list(rewritten(request["object"]["spec"]))).encode()).decode()
        body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {
            "uid": request["uid"], "allowed": True, "patchType": "JSONPatch", "patch": patch}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Nothing: `asked` tells that it was."""


class OlderHook:
    """Serves on loopback; `configuration` has it called under this name, by whose order the API server goes."""

    def __init__(self, certificate, ca):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.asked = 0
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.ca = base64.b64encode(ca.read_bytes()).decode()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def asked(self):
        return self.server.asked

    def configuration(self, name, namespace):
        return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
                "metadata": {"name": name}, "webhooks": [{
                    "name": "older.nccl-env.test", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                    "reinvocationPolicy": "IfNeeded",
                    "clientConfig": {"url": f"https://127.0.0.1:{self.server.server_port}/", "caBundle": self.ca},
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                    "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}]}

    def close(self):
        self.server.shutdown()
        self.server.server_close()
