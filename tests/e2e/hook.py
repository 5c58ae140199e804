# SPDX-License-Identifier: Apache-2.0
"""A mutating hook of somebody else's, on loopback."""
import base64
import http.server
import json
import ssl
import threading


class Hook:
    """`patch_of` gives the patch of a pod; `configuration` has it called under this name, by whose order the API server goes."""

    def __init__(self, pki, patch_of):
        hook, self.asked = self, 0

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # noqa: N802
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
                hook.asked += 1
                patch = base64.b64encode(json.dumps(list(patch_of(request["object"]))).encode()).decode()
                body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {
                    "uid": request["uid"], "allowed": True, "patchType": "JSONPatch", "patch": patch}}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                """Nothing: `asked` tells that it was."""
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*pki.issue("hook", "hook", addresses=("IP:127.0.0.1",)))
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.ca = base64.b64encode(pki.ca.read_bytes()).decode()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def configuration(self, name, **more):
        return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
                "metadata": {"name": name}, "webhooks": [{
                    "name": "hook.nccl-env.test", "admissionReviewVersions": ["v1"], "sideEffects": "None", **more,
                    "clientConfig": {"url": f"https://127.0.0.1:{self.server.server_port}/", "caBundle": self.ca},
                    "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}]}

    def close(self):
        self.server.shutdown()
        self.server.server_close()
