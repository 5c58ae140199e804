# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes API over HTTPS with Python's standard library alone: one connection per thread."""
import http.client
import json
import ssl
import threading
import time

from process import PATIENCE, Failed

MAX_IDLE = 45  # seconds; the API server closes a connection after 90, and a POST on it would be lost

PLURALS = {
    "Pod": ("api/v1", "pods"), "Namespace": ("api/v1", "namespaces"), "Node": ("api/v1", "nodes"),
    "ServiceAccount": ("api/v1", "serviceaccounts"),
    "Event": ("api/v1", "events"), "Secret": ("api/v1", "secrets"), "Service": ("api/v1", "services"),
    "Deployment": ("apis/apps/v1", "deployments"), "DaemonSet": ("apis/apps/v1", "daemonsets"),
    "StatefulSet": ("apis/apps/v1", "statefulsets"), "Job": ("apis/batch/v1", "jobs"),
    "ResourceClaim": ("apis/resource.k8s.io/v1", "resourceclaims"),
    "ResourceClaimTemplate": ("apis/resource.k8s.io/v1", "resourceclaimtemplates"),
    "CustomResourceDefinition": ("apis/apiextensions.k8s.io/v1", "customresourcedefinitions"),
    "NcclPolicy": ("apis/nccl-env.io/v1alpha1", "ncclpolicies"),
    "NodeFabric": ("apis/nccl-env.io/v1alpha1", "nodefabrics"),
    "MutatingWebhookConfiguration": ("apis/admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations"),
    "ValidatingWebhookConfiguration": ("apis/admissionregistration.k8s.io/v1", "validatingwebhookconfigurations"),
}


class Refused(Failed):
    """An answer of 400 or more."""

    def __init__(self, request, code, message):
        super().__init__(f"{request}: {code} {message}")
        self.code, self.message = code, message


def path_of(kind, namespace=None, name=None, subresource=None):
    root, plural = PLURALS[kind]
    return "/" + "/".join([root, *(["namespaces", namespace] if namespace else []), plural,
                           *filter(None, [name, subresource])])


class Api:
    def __init__(self, port, ca, certificate=None, token=None):
        """Asks as the owner of a certificate (the files of certificate and key), or of a token."""
        self.port, self.token, self.local = port, token, threading.local()
        self.context = ssl.create_default_context(cafile=ca)
        if certificate:
            self.context.load_cert_chain(*certificate)

    def as_token(self, token):
        other = Api.__new__(Api)
        other.port, other.token, other.local = self.port, token, threading.local()
        other.context = ssl.create_default_context()
        other.context.load_verify_locations(cadata="".join(
            ssl.DER_cert_to_PEM_cert(der) for der in self.context.get_ca_certs(binary_form=True)))
        return other

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=PATIENCE)

    def request(self, method, path, body=None, kind="application/json"):
        """The answer's object; Refused for 400 and more."""
        headers = {"Accept": "application/json", "Content-Type": kind}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        data = None if body is None else json.dumps(body)
        for attempt in (1, 2):
            fresh = getattr(self.local, "connection", None) is None or time.monotonic() > self.local.stale
            if fresh:
                self.local.connection = self.connect()
            try:
                self.local.connection.request(method, path, data, headers)
                reply = self.local.connection.getresponse()
                text = reply.read()
                self.local.stale = time.monotonic() + MAX_IDLE
                break
            except (OSError, http.client.HTTPException):
                self.local.connection.close()
                self.local.connection = None
                if fresh or method == "POST" or attempt == 2:
                    raise
        if reply.status >= 400:
            try:
                message = json.loads(text)["message"]
            except (ValueError, KeyError):
                message = text.decode(errors="replace").strip()
            raise Refused(f"{method} {path}", reply.status, message)
        return json.loads(text)

    def get(self, kind, namespace=None, name=None):
        return self.request("GET", path_of(kind, namespace, name))

    def list(self, kind, namespace=None, query=""):
        return self.request("GET", path_of(kind, namespace) + query)["items"]

    def create(self, manifest, query=""):
        metadata = manifest["metadata"]
        return self.request("POST", path_of(manifest["kind"], metadata.get("namespace")) + query, manifest)

    def apply(self, manifest, manager="e2e", subresource=None):
        metadata = manifest["metadata"]
        path = path_of(manifest["kind"], metadata.get("namespace"), metadata["name"], subresource)
        return self.request("PATCH", f"{path}?fieldManager={manager}&force=true", manifest,
                            "application/apply-patch+yaml")

    def merge(self, kind, namespace, name, patch, subresource=None):
        return self.request("PATCH", path_of(kind, namespace, name, subresource), patch,
                            "application/merge-patch+json")

    def delete(self, kind, namespace=None, name=None, grace=None):
        body = {} if grace is None else {"gracePeriodSeconds": grace}
        return self.request("DELETE", path_of(kind, namespace, name), body)

    def bind(self, namespace, pod, node, uid=None, legacy=False, annotations=None, query=""):
        binding = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": node},
                   "metadata": {"name": pod, "namespace": namespace,
                                **({"uid": uid} if uid else {}),
                                **({"annotations": annotations} if annotations else {})}}
        root = f"/api/v1/namespaces/{namespace}"
        return self.request("POST", (f"{root}/bindings" if legacy else f"{root}/pods/{pod}/binding") + query, binding)


class Watch(threading.Thread):
    """Every event of one kind in one namespace since the Watch was made, in the order of arrival."""

    def __init__(self, api, kind, namespace):
        super().__init__(daemon=True)
        self.api, self.path = api, path_of(kind, namespace)
        self.version = api.request("GET", self.path + "?limit=1")["metadata"]["resourceVersion"]
        self.events, self.ended, self.seen = [], False, threading.Condition()
        self.start()

    def run(self):
        while not self.ended:
            try:
                self.follow()
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.05)  # the API server is away

    def follow(self):
        connection = self.api.connect()
        connection.request("GET", f"{self.path}?watch=1&resourceVersion={self.version}")
        reply = connection.getresponse()
        while not self.ended:
            line = reply.readline()
            if not line:
                return
            event = json.loads(line)
            if event["type"] == "ERROR":
                raise Failed(f"watch of {self.path}: {event['object']}")
            self.version = event["object"]["metadata"]["resourceVersion"]
            with self.seen:
                self.events.append((event["type"], event["object"]))
                self.seen.notify_all()

    def stop(self):
        self.ended = True
        return list(self.events)
