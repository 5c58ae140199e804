# SPDX-License-Identifier: Apache-2.0
"""Many pods while everything changes: tables, policies, a replica, certificates; then the API server itself."""
import concurrent.futures
import http.client
import os
import signal
import threading
import time

from api import Refused
from objects import HCA, annotations_of, expect, hca_list, pod, policy, table
from process import Failed, eventually

LONG = bool(os.environ.get("E2E_LONG"))
PODS, NODES, TABLES, CLIENTS = (500, 50, 10, 16) if LONG else (100, 10, 10, 8)
SECONDS = 60 if LONG else 20  # over which the pods are created
NAME = f"2 churn: {PODS} pods over {NODES} nodes while tables, policies, replicas and certificates change"
KILL_WINDOW = 2  # seconds around the kill in which failurePolicy Ignore may let a pod pass without values
CURRENT = 5  # seconds for the webhook to follow an API server that came back


def node_name(number):
    return f"churn-{number:02}"


def hcas_of(number, version):
    """Names that no node with another table has, and no other version of this one."""
    return [f"t{number % TABLES}v{version}_{port}" for port in range(4)]


class Changes(threading.Thread):
    """One table after the other gets its next version; every tenth time the policy changes."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.stopping, self.error = cluster, threading.Event(), None
        self.written = {node_name(number): set() for number in range(NODES)}  # every list that the node ever had
        self.count = self.edits = 0
        for number in range(NODES):
            self.write(number, 0)

    def write(self, number, version):
        node, hcas = node_name(number), hcas_of(number, version)
        self.written[node].add(hca_list(hcas))
        self.cluster.api.apply(table(node, hcas))

    def run(self):
        try:
            while not self.stopping.wait(0.1):
                self.count += 1
                self.write(self.count % NODES, self.count // NODES + 1)
                if self.count % 10 == 0:
                    self.edits += 1
                    self.cluster.api.apply(policy("churn", socketInterface=f"eth{self.edits % 2}"))
        except Exception as error:  # it must fail the scenario
            self.error = error

    def finish(self):
        self.stopping.set()
        self.join()
        if self.error:
            raise self.error


class Creations:
    """Pods from several clients, spread over the time; what failed, and when each was made."""

    def __init__(self, cluster):
        self.cluster, self.failures, self.times = cluster, [], {}
        self.begin = time.monotonic()

    def create(self, number):
        time.sleep(max(0, self.begin + number * SECONDS / PODS - time.monotonic()))
        name = f"pod-{number:03}"
        try:
            self.times[name] = time.monotonic()
            self.cluster.api.create(pod("churn", name, node=node_name(number % NODES)))
        except (Refused, OSError) as error:
            self.failures.append(f"{name}: {error}")

    def run(self):
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(self.create, range(PODS)))


class Certificates(threading.Thread):
    """Every one that a replica showed."""

    def __init__(self, webhooks):
        super().__init__(daemon=True)
        self.webhooks, self.seen, self.stopping = webhooks, set(), threading.Event()

    def run(self):
        while not self.stopping.wait(0.5):
            for replica in self.webhooks.replicas.values():
                try:
                    self.seen.add(replica.certificate())
                except OSError:
                    pass  # the one that was killed


def check_pods(cluster, changes, creations, killed):
    """Each pod has values that its own node had; one without met the kill."""
    without = 0
    for some in cluster.api.list("Pod", "churn"):
        name, node = some["metadata"]["name"], some["spec"]["nodeName"]
        found = annotations_of(some).get(HCA)
        if found in changes.written[node]:
            continue
        if found is not None:
            raise Failed(f"{name} on {node} has {found}, which that node never had")
        without += 1
        if not -1 < creations.times[name] - killed < KILL_WINDOW:
            raise Failed(f"{name} on {node} has no values, made {creations.times[name] - killed:+.1f} s from the kill")
    return without


class Steady(threading.Thread):
    """A create each tenth of a second, and when each one ended that failed."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.stopping, self.made, self.failures = cluster, threading.Event(), [], []
        self.start()

    def run(self):
        while not self.stopping.wait(0.1):
            name = f"steady-{len(self.made) + len(self.failures)}"
            try:
                self.cluster.api.create(pod("churn", name, node=node_name(1)))
                self.made.append(name)
            except (Refused, OSError, http.client.HTTPException) as error:
                self.failures.append((time.monotonic(), f"{name}: {error}"))


def restart_api_server(cluster, changes):
    """Only what meets the restart fails; within seconds the webhook follows again."""
    steady = Steady(cluster)
    time.sleep(1)
    down, node, names = time.monotonic(), node_name(0), hcas_of(0, 9999)
    cluster.plane.restart_apiserver()
    cluster.plane.wait_ready()
    up = time.monotonic()
    eventually("a table can be written", lambda: write(cluster, table(node, names)), 10)
    cluster.follows("churn", node, HCA, hca_list(names), CURRENT)
    current = time.monotonic() - up
    time.sleep(1)
    steady.stopping.set()
    steady.join()
    for when, failure in steady.failures:
        if not down <= when < up + 1:
            raise Failed(f"{when - down:+.1f} s from the restart, which took {up - down:.1f} s: {failure}")
    for name in steady.made:
        found = annotations_of(cluster.bound("churn", name)).get(HCA)
        if found not in changes.written[node_name(1)]:
            raise Failed(f"{name} has {found}")
    return (f"{up - down:.1f} s without an API server failed {len(steady.failures)} creates, "
            f"current {current:.1f} s later")


def write(cluster, manifest):
    try:
        return cluster.api.apply(manifest)
    except (Refused, OSError, http.client.HTTPException):
        return None


def run(cluster):
    for number in range(NODES):
        cluster.plane.add_node(node_name(number))
    changes = Changes(cluster)
    cluster.put_policy(policy("churn", socketInterface="eth0"))
    cluster.opt_in("churn", "churn")
    for number in range(NODES):
        cluster.follows("churn", node_name(number), HCA, hca_list(hcas_of(number, 0)))
    certificates = Certificates(cluster.webhooks)
    certificates.start()
    changes.start()
    creations = Creations(cluster)
    maker = threading.Thread(target=creations.run)
    maker.start()
    time.sleep(SECONDS / 3)
    killed = time.monotonic()
    cluster.webhooks.end("webhook-1", signal.SIGKILL)
    time.sleep(2)
    cluster.webhooks.start("webhook-1")
    maker.join()
    expect("failed creates", creations.failures, [])

    def all_bound():
        return all(some["spec"].get("nodeName") for some in cluster.api.list("Pod", "churn"))
    eventually("no pod is stuck", all_bound, 30)
    certificates.stopping.set()
    if len(certificates.seen) < 2:
        raise Failed("no certificate was renewed meanwhile")
    changes.finish()
    without = check_pods(cluster, changes, creations, killed)
    restart = restart_api_server(cluster, changes)
    cluster.clear("churn")
    for number in range(NODES):
        cluster.api.delete("NodeFabric", None, node_name(number))
        cluster.api.delete("Node", None, node_name(number))
    return (f"{changes.count} tables and {changes.edits} policies written, "
            f"{len(certificates.seen)} certificates served, {without} pods passed the kill without values; {restart}")
