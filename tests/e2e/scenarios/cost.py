# SPDX-License-Identifier: Apache-2.0
"""What `make bench-api` measures, for a moment, so that it stays whole. In the long form what a large cluster costs a
replica, too, with bounds so wide that only a mistake crosses them."""
import argparse
import os
import signal
import sys
import time

from cluster import SOURCE
from objects import HCA, hca_list, policy, table
from process import Failed, eventually
from scenarios.restart import for_each

sys.path.append(str(SOURCE / "tests/bench"))
import apiserver  # noqa: E402

NAME = "6 cost: hooks and tables in the API server, for a moment"
TABLES = 5000
RESIDENT_MIB = 512  # below the Deployment's limit


def many_tables(cluster):
    rails = [f"mlx5_{number}" for number in range(8)]
    for_each(lambda number: cluster.api.apply(table(f"scale-{number}", rails)), TABLES)
    cluster.put_policy(policy("cost"))
    cluster.opt_in("cost", "cost")
    replica = cluster.webhooks.replicas["webhook-1"]
    cluster.webhooks.end("webhook-1", signal.SIGKILL)
    begin = time.monotonic()
    cluster.webhooks.start("webhook-1")
    ready = time.monotonic() - begin
    eventually("all tables are there", lambda: replica.metric("nccl_env_store_objects", kind="NodeFabric") >= TABLES)
    loaded = time.monotonic() - begin
    resident = replica.resident_mib()
    begin = time.monotonic()
    cluster.api.apply(table("scale-0", rails[:4]))
    cluster.follows("cost", "scale-0", HCA, hca_list(rails[:4]))
    use = time.monotonic() - begin
    for_each(lambda number: cluster.api.delete("NodeFabric", None, f"scale-{number}"), TABLES)
    cluster.clear("cost")
    if resident > RESIDENT_MIB:
        raise Failed(f"{TABLES} tables: {resident:.0f} MiB")
    return (f"{TABLES} tables: ready in {ready:.1f} s, all loaded in {loaded:.1f} s, {resident:.0f} MiB resident, "
            f"a change in use after {use:.2f} s")


def run(cluster):
    directory = cluster.directory / "bench"
    directory.mkdir(exist_ok=True)
    rows = [*apiserver.measure_hooks(cluster, directory, argparse.Namespace(kb=[1], clients=[2], rounds=1, requests=8)),
            *apiserver.measure_heap(cluster, [50], restart=False)]
    (directory / "api.txt").write_text("\n".join(rows) + "\n")
    return f"{rows[-1]}; {many_tables(cluster)}" if os.environ.get("E2E_LONG") else rows[-1]
