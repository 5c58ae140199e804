#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPU per request of the whole webhook, beside nginx's static reply and a Go webhook; then what a store of many
tables costs. The last lines are figures.py's. Method and figures: tests/bench/README.md.

  compare.py BUILD_DIRECTORY [--rounds 7] [--requests 8000] [--quick]"""
import argparse
import base64
import http.client
import json
import os
import pathlib
import re
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

import inputs
import servers
from figures import figure

TABLES = (1, 1000, 15000)


class Target:
    """A server and the request that it gets."""

    def __init__(self, name, server, path, body, share=1.0, compare="bytes"):
        self.name, self.server, self.path, self.body = name, server, path, body
        self.share, self.compare = share, compare  # of the requests of a round
        self.cpu = []

    def load(self, client, requests, connections=8, save=None):
        command = [client, "--port", self.server.port, "--path", self.path, "--body", self.body, "--server-pid",
                   self.server.pid, "--requests", max(100, int(requests * self.share)), "--connections",
                   connections, "--compare", self.compare]
        if save:
            command += ["--save", save]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                              preexec_fn=servers.pin(servers.CLIENT_CPU))
        if done.returncode != 0:
            raise SystemExit(f"{self.name}: {done.stderr}")
        return {name: float(value) for name, value in (line.split(": ") for line in done.stdout.splitlines())}


def check_reply(text, review, variables):
    """That it is a patch, of this review, that names so many variables."""
    response = json.loads(text)["response"]
    assert response["allowed"] and response["uid"] == review["request"]["uid"], text
    patch = base64.b64decode(response["patch"]).decode()
    names = set(re.findall(r'(?::"|\\n)(NCCL_\w+)["=]', patch))  # of entries, and of a file's lines
    assert len(names) == variables, patch


def measure(targets, client, rounds, requests):
    """Alternating: each round runs every target once, beginning with another one."""
    for target in targets:
        target.load(client, requests / 4)
    for number in range(rounds):
        first = number % len(targets)
        for target in targets[first:] + targets[:first]:
            target.cpu.append(target.load(client, requests)["cpu_us"])


def compare_servers(options, directory, bodies):
    store = inputs.write_store(directory / "store", 1)
    pki = directory / "pki"
    webhook = servers.start_webhook(options.webhook, store, pki)
    silent = servers.start_webhook(options.webhook, store, directory / "pki2", "off")
    replies = {}
    for kind, variables in (("pod", 7), ("binding", 9)):
        saved = directory / f"{kind}-reply.json"
        Target(kind, webhook, "/admit", bodies[kind]).load(options.client, 100, save=saved)
        replies[f"/{kind}"] = saved.read_text()
        check_reply(saved.read_text(), json.loads(bodies[kind].read_text()), variables)
    nginx = servers.start_nginx(directory / "nginx", pki, replies)
    targets = [Target("nginx, pod", nginx, "/pod", bodies["pod"]),
               Target("webhook, pod", webhook, "/admit", bodies["pod"]),
               Target("webhook, pod, no log", silent, "/admit", bodies["pod"]),
               Target("nginx, binding", nginx, "/binding", bodies["binding"]),
               Target("webhook, binding", webhook, "/admit", bodies["binding"]),
               Target("webhook, binding, no log", silent, "/admit", bodies["binding"])]
    program = servers.build_go(directory)
    go = program and servers.start_go(program, pki)
    if go:
        targets.append(Target("Go webhook, pod", go, "/admit", bodies["pod"], 0.2, "length"))
        saved = directory / "go-reply.json"
        targets[-1].load(options.client, 500, save=saved)
        check_reply(saved.read_text(), json.loads(bodies["pod"].read_text()), 10)
    measure(targets, options.client, options.rounds, options.requests)
    for server in filter(None, (webhook, silent, nginx, go)):
        server.stop()
    print("replies: " + ", ".join(f"{name[1:]} {len(text)} bytes" for name, text in replies.items()))
    return {target.name: target.cpu for target in targets}


def ratios(figures):
    """Medians of the rounds' own ratios: what disturbs the machine disturbs both sides of a round."""
    def over(ours, other):
        return [a / b for a, b in zip(figures[ours], figures[other])]

    found = {"webhook_cpu_vs_nginx": over("webhook, pod", "nginx, pod"),
             "binding_cpu_vs_nginx": over("webhook, binding", "nginx, binding"),
             "webhook_cpu_vs_nginx_without_log": over("webhook, pod, no log", "nginx, pod"),
             "binding_cpu_vs_nginx_without_log": over("webhook, binding, no log", "nginx, binding")}
    if "Go webhook, pod" in figures:
        found["webhook_cpu_vs_go"] = over("webhook, pod", "Go webhook, pod")
    return found | {f"{re.sub('[^a-z]+', '_', name.lower())}_cpu_us": values for name, values in figures.items()}


def change_to_use(server, store, body, index):
    """Milliseconds from a table's replacement to the first Binding that follows it: the rows have another index."""
    trust = ssl._create_unverified_context()  # the certificate is the run's own
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=trust)
    changed = inputs.table(0)
    for port in changed["observed"]["ports"]:
        port["gidRows"][3] = f"{index}{port['gidRows'][3][1:]}"
    inputs.write_json(store / ".new", changed)
    os.replace(store / ".new", store / f"{inputs.NODE}.json")
    start = time.monotonic()
    while time.monotonic() - start < 30:
        connection.request("POST", "/admit", body, {"Content-Type": "application/json"})
        reply = json.loads(connection.getresponse().read())
        if f"GID_INDEX={index}".encode() in base64.b64decode(reply["response"]["patch"]):
            return (time.monotonic() - start) * 1000
    raise SystemExit("the changed table was not used within 30 s")


def measure_store(options, directory, bodies, tables):
    store = inputs.write_store(directory / f"store-{tables}", tables)
    starts = []
    for _ in range(7):  # a certificate is at hand
        server = servers.start_webhook(options.webhook, store, directory / "pki")
        starts.append(server.start_seconds * 1000)
        resident = server.resident_mib()
        server.stop()
    server = servers.start_webhook(options.webhook, store, directory / "pki")
    cpu = {}
    for kind in ("pod", "binding"):
        target = Target(kind, server, "/admit", bodies[kind])
        cpu[kind] = statistics.median(target.load(options.client, options.requests)["cpu_us"] for _ in range(3))
    changes = [change_to_use(server, store, bodies["binding"].read_bytes(), 4 + i) for i in range(5)]
    after = server.resident_mib()
    server.stop()
    print(f"  {tables:>7}{statistics.median(starts):>9.0f} ms{resident:>9.1f} MiB{after:>9.1f} MiB{cpu['pod']:>11.2f}{cpu['binding']:>11.2f}"
          f"{statistics.median(changes):>10.0f} ms", flush=True)
    return {f"ready_{tables}_tables_ms": starts, f"resident_{tables}_tables_mib": [resident],
            f"change_to_use_{tables}_tables_ms": changes}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--requests", type=int, default=8000)
    parser.add_argument("--quick", action="store_true", help="only the comparison of servers")
    options = parser.parse_args()
    options.webhook = options.build / "bin/nccl-env-webhook"
    options.client = options.build / "bin/load_client"
    with tempfile.TemporaryDirectory(prefix="nccl-env-bench-") as name:
        directory = pathlib.Path(name)
        bodies = {"pod": directory / "pod.json", "binding": directory / "binding.json"}
        inputs.write_json(bodies["pod"], inputs.pod_review())
        inputs.write_json(bodies["binding"], inputs.binding_review())
        print("reviews: " + ", ".join(f"{kind} {path.stat().st_size} bytes" for kind, path in bodies.items()))
        results = ratios(compare_servers(options, directory, bodies))
        if not options.quick:
            print("\n   tables    ready in     resident  after loads    pod us  binding us  change to use")
            for tables in TABLES:
                results |= measure_store(options, directory, bodies, tables)
    print()
    for name, values in results.items():
        print(figure(name, values))
    return 0


if __name__ == "__main__":
    sys.exit(main())
