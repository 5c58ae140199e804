# SPDX-License-Identifier: Apache-2.0
"""A registry on loopback that takes images (OCI distribution specification, pushing alone), each blob and manifest by its
digest."""
import hashlib
import http.server
import itertools
import threading
import urllib.parse


class Registry:
    """blobs: by digest. manifests: by repository and tag or digest. uploads: what has come of each, by its number."""

    def __init__(self):
        self.blobs, self.manifests, self.uploads, self.numbers = {}, {}, {}, itertools.count(1)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *args: Handler(self, *args))
        self.host = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

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
        repository, _, rest = urllib.parse.urlsplit(self.path).path.removeprefix("/v2/").partition("/nccl-env-")
        image, kind, name = (rest.split("/") + ["", ""])[:3]
        return f"{repository}/nccl-env-{image}", kind, name

    def do_GET(self):  # noqa: N802
        repository, kind, name = self.place()
        if self.path == "/v2/":
            return self.answer(200)
        found = self.registry.blobs.get(name) if kind == "blobs" else self.registry.manifests.get((repository, name))
        if found is None:
            return self.answer(404)
        return self.answer(200, found, Docker_Content_Digest="sha256:" + hashlib.sha256(found).hexdigest())

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
            digest = "sha256:" + hashlib.sha256(given).hexdigest()
            self.registry.manifests |= {(repository, name): given, (repository, digest): given}
            return self.answer(201, Docker_Content_Digest=digest)
        blob = self.registry.uploads.pop(urllib.parse.urlsplit(self.path).path, b"") + given
        digest = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)["digest"][0]
        if digest != "sha256:" + hashlib.sha256(blob).hexdigest():
            return self.answer(400)
        self.registry.blobs[digest] = blob
        return self.answer(201, Docker_Content_Digest=digest)

    def log_message(self, *_):
        """Nothing: skopeo says what failed."""
