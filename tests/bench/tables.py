#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a replica spends on many tables, from a directory and from an API server: CPU until all are loaded, memory
then and at most. The last lines are figures.py's. Method and figures: tests/bench/README.md.

  tables.py WEBHOOK [--tables 15000] [--shape 8x4] [--from dir,api]"""
import argparse
import http.server
import json
import os
import pathlib
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request

import inputs
import servers
from figures import figure

GROUP = "/apis/nccl-env.io/v1alpha1/"


def managed_fields(value):
    """What a server-side apply owns of an object: every field by name, every item of a list with keys."""
    return {f"f:{name}": managed_fields(child) if isinstance(child, dict) and child else {}
            for name, child in value.items()}


def stored(table, version):
    """As the API server lists it."""
    applied = {"observed": table["observed"]}
    table["metadata"] |= {"creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1, "resourceVersion": str(version),
                          "uid": f"0f0e2f6e-8a8d-4a55-9f53-{version:012x}",
                          "managedFields": [{"apiVersion": table["apiVersion"], "fieldsType": "FieldsV1",
                                             "fieldsV1": managed_fields(applied), "manager": "nccl-env-agent",
                                             "operation": "Apply", "time": "2026-01-01T00:00:00Z"}]}
    return {name: table[name] for name in ("apiVersion", "kind", "metadata", "observed")}


class Api(http.server.BaseHTTPRequestHandler):
    """Lists, and watches without an event. `lists`: path -> texts of objects."""
    protocol_version = "HTTP/1.1"
    lists = {}

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if query.get("watch"):
            return self.watch()
        objects = self.lists.get(url.path)
        if objects is None:
            return self.reply(404, b'{"kind":"Status","code":404}')
        first = int(query.get("continue", 0))
        end = min(first + int(query.get("limit", 500)), len(objects))
        metadata = {"resourceVersion": "999999", "continue": str(end) if end < len(objects) else ""}
        self.reply(200, b'{"kind":"List","apiVersion":"v1","metadata":' + json.dumps(metadata).encode() +
                   b',"items":[' + b",".join(objects[first:end]) + b"]}")

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def watch(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        time.sleep(600)

    def log_message(self, *_):
        pass


def start_api(directory, tables):
    """A kubeconfig of a server that holds them."""
    Api.lists[GROUP + "nodefabrics"] = [json.dumps(each, separators=(",", ":")).encode() for each in tables]
    policy = inputs.policy()
    policy["metadata"] |= {"resourceVersion": "1", "generation": 1, "uid": "1"}
    namespace = inputs.namespace()
    namespace["metadata"]["resourceVersion"] = "1"
    Api.lists[GROUP + "ncclpolicies"] = [json.dumps(policy).encode()]
    Api.lists["/api/v1/namespaces"] = [json.dumps(namespace).encode()]
    key, certificate = directory / "api.key", directory / "api.crt"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-keyout", key, "-out", certificate, "-subj", "/CN=api", "-addext",
                    "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "c",
              "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
              "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{server.server_port}",
                                                     "certificate-authority": str(certificate)}}],
              "users": [{"name": "u", "user": {"token": "t"}}]}
    inputs.write_json(directory / "kubeconfig", config)
    return directory / "kubeconfig"


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(pid, name):
    return int(pathlib.Path(f"/proc/{pid}/status").read_text().split(name + ":")[1].split()[0]) / 1024


def measure(webhook, source, directory, tables):
    """Runs a replica until its metrics count the tables."""
    ops = servers.free_port()
    process = subprocess.Popen([webhook, *source, "--listen", f"127.0.0.1:{servers.free_port()}", "--ops-listen",
                                f"127.0.0.1:{ops}", "--self-signed", directory / "pki", "--threads", "1"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begin = time.monotonic()
    wanted = f'nccl_env_store_objects{{kind="NodeFabric"}} {tables}\n'
    while True:
        time.sleep(0.1)
        assert process.poll() is None and time.monotonic() - begin < 300, "the tables were not loaded"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{ops}/metrics", timeout=30) as reply:
                if wanted in reply.read().decode():
                    break
        except OSError:
            continue
    wall, cpu = time.monotonic() - begin, cpu_seconds(process.pid)
    time.sleep(2)  # what the load took and gives back
    found = {"cpu_seconds": cpu, "wall_seconds": wall, "resident_mib": memory_mib(process.pid, "VmRSS"),
             "most_mib": memory_mib(process.pid, "VmHWM")}
    process.kill()
    process.wait()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("webhook", type=pathlib.Path)
    parser.add_argument("--tables", type=int, default=15000)
    parser.add_argument("--shape", default="8x4", help="ports x rows of each")
    parser.add_argument("--from", dest="sources", default="dir,api")
    options = parser.parse_args()
    ports, rows = map(int, options.shape.split("x"))
    with tempfile.TemporaryDirectory(prefix="nccl-env-tables-") as name:
        directory = pathlib.Path(name)
        tables = [inputs.shaped(number, ports, rows) for number in range(options.tables)]
        sizes = [len(json.dumps(table, separators=(",", ":"))) for table in tables[:1]]
        for source in options.sources.split(","):
            if source == "dir":
                store = inputs.write_store(directory / "store", 0)
                for table in tables:
                    inputs.write_json(store / (table["metadata"]["name"] + ".json"), table)
                arguments = ["--store", f"dir:{store}"]
            else:
                listed = [stored(table, 1000 + i) for i, table in enumerate(tables)]
                sizes.append(len(json.dumps(listed[0], separators=(",", ":"))))
                arguments = ["--store", "kubernetes", "--kubeconfig", start_api(directory, listed)]
            for key, value in measure(options.webhook, arguments, directory, options.tables).items():
                print(figure(f"{source}_{options.shape}_{options.tables}_{key}", [value]), flush=True)
        print(f"table_{options.shape}_json_bytes: {sizes[0]}" +
              (f"\ntable_{options.shape}_listed_bytes: {sizes[1]}" if len(sizes) > 1 else ""))


if __name__ == "__main__":
    main()
