# SPDX-License-Identifier: Apache-2.0
"""A registry on loopback (OCI distribution specification): takes images, and gives them, with a password where it has one.
containerd takes such a registry without TLS."""
import base64
import hashlib
import http.server
import itertools
import json
import re
import tarfile
import threading
import urllib.parse

LOGIN = "puller:of-the-test"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def digest_of(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


class Registry:
    """blobs: by digest. manifests: by repository and tag or digest. uploads: what has come of each, by its place.
    locked: it asks for LOGIN, and counts those turned away."""

    def __init__(self, locked=False):
        self.blobs, self.manifests, self.uploads, self.numbers = {}, {}, {}, itertools.count(1)
        self.locked, self.turned_away = locked, 0
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *args: Handler(self, *args))
        self.host = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def keep(self, content):
        self.blobs[digest_of(content)] = content
        return {"digest": digest_of(content), "size": len(content)}

    def keep_manifest(self, repository, name, manifest):
        self.manifests |= {(repository, name): manifest, (repository, digest_of(manifest)): manifest}

    def keep_image(self, archive, repository, tag):
        """The image for amd64 of an archive in OCI's layout, as an image of its own: the kubelet asks for the password for
        whatever has the same digest."""
        with tarfile.open(archive) as content:
            read = {member.name.split("/")[-1]: content.extractfile(member).read() for member in content
                    if member.isfile()}
        for blob in read.values():
            self.keep(blob)
        outer, = json.loads(read["index.json"])["manifests"]
        described = next(one for one in json.loads(self.blobs[outer["digest"]])["manifests"]
                         if one["platform"]["architecture"] == "amd64")
        manifest = {"mediaType": described["mediaType"], **json.loads(self.blobs[described["digest"]])}
        config = json.loads(self.blobs[manifest["config"]["digest"]])
        config["config"]["Labels"] = {"nccl-env.test/registry": "loopback"}
        manifest["config"] |= self.keep(json.dumps(config).encode())
        self.keep_manifest(repository, tag, json.dumps(manifest).encode())

    def pull_secret(self, name, namespace):
        login = base64.b64encode(LOGIN.encode()).decode()
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
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        read = b""
        while size := int(self.rfile.readline(), 16):
            read += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return read

    def place(self):
        """The repository, what is asked for in it, and by which name."""
        path = urllib.parse.urlsplit(self.path).path
        found = re.fullmatch("/v2/(.+)/(blobs|manifests)/(.+)", path)
        return found.groups() if found else ("", "", "")

    def known(self):
        login = "Basic " + base64.b64encode(LOGIN.encode()).decode()
        if not self.registry.locked or self.headers.get("Authorization") == login:
            return True
        self.registry.turned_away += 1
        self.answer(401, WWW_Authenticate='Basic realm="registry"')
        return False

    def do_GET(self):  # noqa: N802
        if not self.known():
            return None
        repository, kind, name = self.place()
        if self.path == "/v2/":
            return self.answer(200)
        found = self.registry.blobs.get(name) if kind == "blobs" else self.registry.manifests.get((repository, name))
        if found is None:
            return self.answer(404)
        media = json.loads(found).get("mediaType", MANIFEST) if kind == "manifests" else "application/octet-stream"
        return self.answer(200, found, Content_Type=media, Docker_Content_Digest=digest_of(found))

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self):  # noqa: N802
        self.body()
        self.answer(202, Location=f"{self.path.rstrip('/')}/{next(self.registry.numbers)}")

    def do_PATCH(self):  # noqa: N802
        self.registry.uploads[self.path] = given = self.body()
        self.answer(202, Location=self.path, Range=f"0-{len(given) - 1}")

    def do_PUT(self):  # noqa: N802
        repository, kind, name = self.place()
        given = self.body()
        if kind == "manifests":
            self.registry.keep_manifest(repository, name, given)
            return self.answer(201, Docker_Content_Digest=digest_of(given))
        blob = self.registry.uploads.pop(urllib.parse.urlsplit(self.path).path, b"") + given
        digest = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)["digest"][0]
        if digest != digest_of(blob):
            return self.answer(400)
        self.registry.keep(blob)
        return self.answer(201, Docker_Content_Digest=digest)

    def log_message(self, *_):
        """Nothing: skopeo says what failed, and the node's events show what was asked."""
