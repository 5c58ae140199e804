# SPDX-License-Identifier: Apache-2.0
"""Both replicas end at once and start again beside many tables, while pods are created and bound. Then one starts that
may not read tables."""
import concurrent.futures
import itertools
import os
import signal
import threading
import time

from fleet import ROCE, node_table
from objects import HCA, annotations_of, given, hca_list, pod, policy, table
from process import Failed, eventually

LONG = bool(os.environ.get("E2E_LONG"))
TABLES, CLIENTS, PER_SECOND = (15000, 32, 100) if LONG else (1500, 8, 20)
NAME = f"21 restart: both replicas start again beside {TABLES} tables and {PER_SECOND} creates a second"
NODES = 20


def node_name(number):
    return f"zz-restart-{number:02}"  # after all others: in a list of tables they come last


def hcas_of(number):
    return [f"r{number}_{port}" for port in range(4)]


def filler(number):
    return f"fill-{number:05}"


def for_each(call, count):
    with concurrent.futures.ThreadPoolExecutor(16) as clients:
        list(clients.map(call, range(count)))


class Creates(threading.Thread):
    """Pods at a steady rate until `finish`: begin of each create by name."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.begins, self.stopping = cluster, {}, threading.Event()
        self.numbers, self.start_time, self.error = itertools.count(), time.monotonic(), None
        self.start()

    def serve(self, _):
        for number in self.numbers:
            time.sleep(max(0, self.start_time + number / PER_SECOND - time.monotonic()))
            if self.stopping.is_set():
                return
            name = f"pod-{number:05}"
            self.begins[name] = time.monotonic()
            self.cluster.api.create(pod("restart", name, node=node_name(number % NODES)))

    def run(self):
        try:
            with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
                list(clients.map(self.serve, range(CLIENTS)))
        except Exception as error:  # it must fail the scenario
            self.error = error

    def wait_for(self, more):
        count = len(self.begins) + more
        eventually(f"{count} pods are created", lambda: len(self.begins) >= count or self.error)

    def finish(self):
        self.stopping.set()
        self.join()
        if self.error:
            raise self.error


def restart(cluster, creates):
    """When the first replica was ready again, and what it took."""
    names = list(cluster.webhooks.replicas)
    creates.wait_for(2 * NODES)
    for name in names:
        cluster.webhooks.replicas[name].process.send_signal(signal.SIGKILL)
    for name in names:
        cluster.webhooks.end(name, signal.SIGKILL)
    begin = time.monotonic()
    cluster.webhooks.start(names[0])
    ready = time.monotonic()
    for name in names[1:]:
        cluster.webhooks.start(name)
    eventually("all tables are loaded", lambda: all(replica.ops("/readyz")[1] == "ok\n"
                                                    for replica in cluster.webhooks.replicas.values()))
    loaded = time.monotonic()
    creates.wait_for(2 * NODES)
    return ready, f"ready {ready - begin:.2f} s after the start, all tables loaded after {loaded - begin:.1f} s"


def check_pods(cluster, creates, ready):
    """Pods that began once a replica was ready have values, but for reads that the API server did not answer in time;
    the others may have met the moment without any."""
    unanswered = cluster.webhooks.metric("nccl_env_responses_total", **{"class": "5xx"})
    missed, without = [], 0
    for some in (cluster.bound("restart", name) for name in creates.begins):
        name, number = some["metadata"]["name"], int(some["metadata"]["name"][4:])
        found = given(annotations_of(some))
        if found == hca_list(hcas_of(number % NODES)):
            continue
        if found is not None:
            raise Failed(f"{name} has {found}")
        without += 1
        if creates.begins[name] >= ready:
            missed.append(name)
    if len(missed) > unanswered:
        raise Failed(f"{len(missed)} pods that a replica could answer have no values, {unanswered:.0f} got an error: "
                     f"{missed[:5]}")
    reads = {outcome: cluster.webhooks.metric("nccl_env_table_reads_total", outcome=outcome)
             for outcome in ("found", "absent", "failed")}
    return (f"{len(creates.begins)} pods, {without} without values of which {len(missed)} after a replica was ready, "
            f"{reads['found']:.0f} tables read one by one ({reads['failed']:.0f} not in time)")


def beside_blind(cluster):
    """A replica that starts without the right to read tables is ready, and answers Bindings with an error that makes
    the API server ask again, mostly the other replica, which knows the tables: nothing is missed at the first try."""
    blind = cluster.webhooks.replicas["webhook-0"]
    role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/nccl-env-webhook"
    cluster.webhooks.end(blind.name, signal.SIGKILL)
    rules = [rule for rule in cluster.api.request("GET", role)["rules"] if "nodefabrics" not in rule["resources"]]
    rules.append({"apiGroups": ["nccl-env.io"], "resources": ["ncclpolicies"], "verbs": ["get", "list", "watch"]})
    cluster.api.request("PATCH", role, {"rules": rules}, "application/merge-patch+json")
    try:
        cluster.webhooks.start(blind.name)
        names = [f"beside-{number:03}" for number in range(200)]
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(lambda name: cluster.api.create(pod("restart", name, node=node_name(0))), names))
        without = [name for name in names
                   if given(annotations_of(cluster.bound("restart", name))) != hca_list(hcas_of(0))]
        unanswered = blind.metric("nccl_env_responses_total", **{"class": "5xx"})
    finally:
        cluster.install()
    if not unanswered or 2 * len(without) > unanswered:  # chance may lead each attempt for a pod to the same replica
        raise Failed(f"beside a replica that may not read tables {len(without)} of {len(names)} pods have no values, "
                     f"it left {unanswered:.0f} calls to the other: {cluster.why('restart', (without or names)[0])}")
    eventually("the replica has loaded all tables", lambda: blind.ops("/readyz")[1] == "ok\n")
    return (f"{len(names)} pods beside a replica without tables, which left {unanswered:.0f} calls to the other, "
            f"{len(without)} of them in vain")


def run(cluster):
    api = cluster.api
    for_each(lambda number: api.apply(node_table(filler(number), ROCE, number)), TABLES)
    for number in range(NODES):
        cluster.plane.add_node(node_name(number))
        api.apply(table(node_name(number), hcas_of(number)))
    cluster.put_policy(policy("restart"))
    cluster.opt_in("restart", "restart")
    for number in range(NODES):
        cluster.follows("restart", node_name(number), HCA, hca_list(hcas_of(number)))
    creates = Creates(cluster)
    try:
        ready, figures = restart(cluster, creates)
    finally:
        creates.finish()
    outcome = check_pods(cluster, creates, ready)
    beside = beside_blind(cluster)
    cluster.clear("restart")
    for number in range(NODES):
        api.delete("NodeFabric", None, node_name(number))
        api.delete("Node", None, node_name(number))
    for_each(lambda number: api.delete("NodeFabric", None, filler(number)), TABLES)
    return f"{figures}; {outcome}; {beside}"
