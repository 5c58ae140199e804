# SPDX-License-Identifier: Apache-2.0
"""A registry on loopback that asks for a password (OCI distribution specification, pulling alone). containerd takes one on
loopback without TLS."""
import base64
import hashlib
import http.server
import io
import json
import tarfile
import threading

USER, PASSWORD = "puller", "of-the-test"


class Registry:
    """Serves the image for amd64 of an archive in OCI's layout, whatever name and tag are asked for. Counts those turned
    away."""

    def __init__(self, archive):
        with tarfile.open(archive) as content:
            read = {member.name: content.extractfile(member).read() for member in content if member.isfile()}
        self.blobs = {"sha256:" + name.split("/")[-1]: data for name, data in read.items() if "blobs/sha256/" in name}
        index = json.load(io.BytesIO(next(data for name, data in read.items() if name.endswith("index.json"))))
        outer, = index["manifests"]
        described = next(one for one in json.loads(self.blobs[outer["digest"]])["manifests"]
                         if one["platform"]["architecture"] == "amd64")
        # An image of its own: the kubelet asks for the password for whatever has the same digest.
        manifest = json.loads(self.blobs[described["digest"]])
        config = json.loads(self.blobs[manifest["config"]["digest"]])
        config["config"]["Labels"] = {"nccl-env.test/registry": "loopback"}
        manifest["config"] |= self.keep(config)
        self.media_type, self.digest = described["mediaType"], self.keep(manifest)["digest"]
        self.turned_away = 0
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *args: Handler(self, *args))
        self.host = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def keep(self, content):
        blob = json.dumps(content).encode()
        digest = "sha256:" + hashlib.sha256(blob).hexdigest()
        self.blobs[digest] = blob
        return {"digest": digest, "size": len(blob)}

    def pull_secret(self, name, namespace):
        login = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace},
                "type": "kubernetes.io/dockerconfigjson",
                "stringData": {".dockerconfigjson": json.dumps({"auths": {self.host: {"auth": login}}})}}

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, registry, *args):
        self.registry = registry
        super().__init__(*args)

    def answer(self, code, body=b"", **headers):
        self.send_response(code)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def do_GET(self):  # noqa: N802
        login = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if self.headers.get("Authorization") != login:
            self.registry.turned_away += 1
            return self.answer(401, WWW_Authenticate='Basic realm="registry"')
        parts = self.path.split("?")[0].split("/")
        if parts == ["", "v2", ""]:
            return self.answer(200)
        kind, reference = parts[-2:]
        digest = reference if reference.startswith("sha256:") else self.registry.digest
        blob = self.registry.blobs.get(digest)
        if kind not in ("manifests", "blobs") or blob is None:
            return self.answer(404)
        media = self.registry.media_type if kind == "manifests" else "application/octet-stream"
        return self.answer(200, blob, Content_Type=media, Docker_Content_Digest=digest)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_):
        """Nothing: what it is asked shows in the node's events."""
