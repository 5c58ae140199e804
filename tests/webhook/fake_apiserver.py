#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An API server for the webhook's tests, by other means than its client: http.server and ssl of Python.

fake_apiserver.py CERTIFICATE KEY PORT [TOKEN]: prints "listening PORT", then reads commands, one a line, and
prints "done" after each:
  put PATH NAME JSON     an object of the collection PATH
  delete PATH NAME
  get PATH NAME          prints the object instead
  delay MILLISECONDS     for each single object that is read from now on
  hold PATH              lists of this collection are answered once another one is held
  mute PATH              watches of this collection say nothing, until another one is muted
  asked PATH             prints how often PATH, or what lies below it, was read
Collections are listed with limit and continue and watched; /version and single objects can be read.
A server-side apply to PATH/NAME/status replaces the status that is applied.
"""
import http.server
import json
import ssl
import sys
import threading
import time
import urllib.parse

changed = threading.Condition()
collections = {}
events = []
version = 1
delay = 0.0
held = ""
muted = ""
asked = []


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if len(sys.argv) > 4 and self.headers.get("Authorization") != "Bearer " + sys.argv[4]:
            return self.reply(401, {"kind": "Status", "code": 401, "message": "Unauthorized"})
        if url.path == "/version":
            return self.reply(200, {"major": "1", "minor": "28", "gitVersion": "v1.28.0"})
        parent, _, name = url.path.rpartition("/")
        with changed:
            asked.append(url.path)
            found = collections.get(parent, {}).get(name)
            known = url.path in collections
        if not known:
            time.sleep(delay)
        if found:
            return self.reply(200, found)
        if not known:
            return self.reply(404, {"kind": "Status", "code": 404, "message": url.path + " not found"})
        if "watch" in query:
            return self.watch(url.path, int(query["resourceVersion"]))
        return self.list(url.path, int(query["limit"]), query.get("continue", ""))

    def do_PATCH(self):
        path, _, what = urllib.parse.urlsplit(self.path).path.rpartition("/")
        parent, _, name = path.rpartition("/")
        applied = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with changed:
            made = collections.get(parent, {}).get(name)
            if not made or what != "status":
                return self.reply(404, {"kind": "Status", "code": 404, "message": self.path + " not found"})
            made = dict(made, status=applied["status"])
            put(parent, name, made)
        self.reply(200, made)

    def list(self, path, limit, after):
        with changed:
            changed.wait_for(lambda: path != held)
            names = sorted(name for name in collections[path] if name > after)
            page = {"kind": "List", "items": [collections[path][name] for name in names[:limit]],
                    "metadata": {"resourceVersion": str(version)}}
        if len(names) > limit:
            page["metadata"]["continue"] = names[limit - 1]
        self.reply(200, page)

    def watch(self, path, seen):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        while True:
            with changed:
                changed.wait_for(lambda: path != muted and any(v > seen and p == path for v, p, _ in events))
                lines = [json.dumps(event) for v, p, event in events if v > seen and p == path]
                seen = version
            for line in lines:  # in two chunks, as no line has to come in one
                for part in (line[:7], line[7:] + "\n"):
                    data = part.encode()
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


def record(path, kind, made):
    events.append((version, path, {"type": kind, "object": made}))
    changed.notify_all()


def put(path, name, made):
    global version
    version += 1
    objects = collections.setdefault(path, {})
    kind = "MODIFIED" if name in objects else "ADDED"
    made["metadata"] = dict(made.get("metadata", {}), name=name, resourceVersion=str(version))
    objects[name] = made
    record(path, kind, made)


def command(line):
    """What is printed."""
    global version, delay, held, muted
    words = line.split(" ", 3)
    with changed:
        if words[0] == "delay":
            delay = int(words[1]) / 1000
            return "done"
        if words[0] == "hold":
            held = words[1]
            changed.notify_all()
            return "done"
        if words[0] == "mute":
            muted = words[1]
            changed.notify_all()
            return "done"
        if words[0] == "asked":
            return str(sum((path + "/").startswith(words[1] + "/") for path in asked))
        if words[0] == "get":
            return json.dumps(collections.get(words[1], {}).get(words[2]))
        if words[0] == "put":
            put(words[1], words[2], json.loads(words[3]))
        else:
            version += 1
            record(words[1], "DELETED", dict(collections[words[1]].pop(words[2])))
    return "done"


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    context.set_alpn_protocols(["h2", "http/1.1"])  # as kube-apiserver offers
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[3])), Handler)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("listening", server.server_address[1], flush=True)
    for line in sys.stdin:
        print(command(line.rstrip("\n")), flush=True)


if __name__ == "__main__":
    main()
