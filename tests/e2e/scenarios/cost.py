# SPDX-License-Identifier: Apache-2.0
"""What the webhook adds to a create and to a Binding, and what a large cluster costs it. Figures, and bounds so wide
that only a mistake crosses them."""
import concurrent.futures
import signal
import statistics
import time

from objects import HCA, hca_list, pod, policy, table
from process import Failed, eventually

NAME = "6 cost: time added to creates and Bindings, and 5000 tables"
PAIRS, CLIENTS, BURST, TABLES = 300, 32, 1000, 5000
WITH, WITHOUT = "cost-with", "cost-without"
TIMES = 5  # as long as without the webhook, at p50: a create or a Binding
RESIDENT_MIB = 512  # the Deployment's limit


def timed(call, *arguments, **keywords):
    begin = time.perf_counter()
    call(*arguments, **keywords)
    return (time.perf_counter() - begin) * 1000


def waiting(namespace, name):
    """A pod that no scheduler takes."""
    return pod(namespace, name, schedulerName="none")


def added(cluster):
    """Milliseconds at the median, of pairs in turn: one create, one Binding, with the webhook and without."""
    creates, binds = {WITH: [], WITHOUT: []}, {WITH: [], WITHOUT: []}
    for number in range(PAIRS):
        for namespace in (WITH, WITHOUT) if number % 2 else (WITHOUT, WITH):
            name = f"pair-{number}"
            creates[namespace].append(timed(cluster.api.create, waiting(namespace, name)))
            binds[namespace].append(timed(cluster.api.bind, namespace, name, "node-a"))
    figures = []
    for what, times in (("create", creates), ("Binding", binds)):
        (p50, p99), (p50_without, p99_without) = [
            [statistics.quantiles(times[some], n=100)[at] for at in (49, 98)] for some in (WITH, WITHOUT)]
        if p50 > TIMES * p50_without:
            raise Failed(f"a {what} takes {p50:.1f} ms with the webhook, and {p50_without:.1f} ms without")
        figures.append(f"{what} +{p50 - p50_without:.2f} ms at p50, {p99 - p99_without:+.2f} ms at p99")
    return ", ".join(figures)


def rate(cluster, namespace):
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
        begin = time.monotonic()
        list(clients.map(lambda number: cluster.api.create(waiting(namespace, f"burst-{number}")), range(BURST)))
        return BURST / (time.monotonic() - begin)


def each_table(call):
    with concurrent.futures.ThreadPoolExecutor(8) as clients:
        list(clients.map(lambda number: call(f"scale-{number}"), range(TABLES)))


def many_tables(cluster):
    rails = [f"mlx5_{number}" for number in range(8)]
    each_table(lambda name: cluster.api.apply(table(name, rails)))
    replica = cluster.webhooks.replicas["webhook-1"]
    cluster.webhooks.end("webhook-1", signal.SIGKILL)
    begin = time.monotonic()
    cluster.webhooks.start("webhook-1")
    ready = time.monotonic() - begin
    eventually("all tables are there", lambda: cluster.webhooks.metric(
        "nccl_env_store_objects", kind="NodeFabric") >= TABLES * len(cluster.webhooks.replicas))
    loaded = time.monotonic() - begin
    resident = replica.resident_mib()
    begin = time.monotonic()
    cluster.api.apply(table("scale-0", rails[:4]))
    cluster.follows(WITH, "scale-0", HCA, hca_list(rails[:4]))
    use = time.monotonic() - begin
    each_table(lambda name: cluster.api.delete("NodeFabric", None, name))
    if resident > RESIDENT_MIB:
        raise Failed(f"{TABLES} tables: {resident:.0f} MiB")
    return (f"{TABLES} tables: ready in {ready:.1f} s, all loaded in {loaded:.1f} s, {resident:.0f} MiB resident, "
            f"a change in use after {use:.2f} s")


def run(cluster):
    cluster.api.apply(table("node-a", ["mlx5_1", "mlx5_2"]))
    cluster.put_policy(policy("cost"))
    cluster.opt_in(WITH, "cost")
    cluster.plane.add_namespace(WITHOUT)
    figures = [added(cluster)]
    rates = {namespace: rate(cluster, namespace) for namespace in (WITHOUT, WITH)}
    figures.append(f"{CLIENTS} clients: {rates[WITH]:.0f} creates a second, {rates[WITHOUT]:.0f} without the webhook")
    figures.append(many_tables(cluster))
    cluster.clear(WITH, WITHOUT)
    return "; ".join(figures)
