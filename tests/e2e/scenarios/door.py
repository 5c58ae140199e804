# SPDX-License-Identifier: Apache-2.0
"""Strangers of 5 and of 40 addresses hold the connections of both replicas, in each way of tests/bench/door.py."""
import concurrent.futures
import contextlib
import ssl
import sys
import time

from cluster import SOURCE
from objects import ours, pod, policy
from process import Failed

sys.path.append(str(SOURCE / "tests/bench"))
import door  # noqa: E402

CREATES, EACH, CLIENTS = 80, 0.05, 8
NAME = f"26 door: {CREATES} creates beside each way of strangers, from 5 and from 40 addresses, at both replicas"


def missed(cluster):
    """How many of the creates pass without values."""
    begin = time.monotonic()

    def create(number):
        time.sleep(max(0, begin + number * EACH - time.monotonic()))
        return not ours(cluster.would_be(pod("door", f"pod-{number}")))
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
        return sum(clients.map(create, range(CREATES)))


def missed_beside(cluster, way, addresses, trust):
    with contextlib.ExitStack() as stack:
        crowds = [stack.enter_context(door.crowd(way, addresses, replica.ports["admission_port"], trust))
                  for replica in cluster.webhooks.replicas.values()]
        door.wait_filled(crowds)
        return missed(cluster)


def run(cluster):
    cluster.put_policy(policy("door"))
    cluster.opt_in("door", "door")
    door.allow_descriptors()
    trust = ssl.create_default_context(cadata=cluster.authority())
    trust.check_hostname = False
    lost = {addresses: {way: missed_beside(cluster, way, addresses, trust) for way in door.WAYS}
            for addresses in ("5", "40")}
    cluster.clear("door")
    if not cluster.webhooks.metric("nccl_env_connections_evicted_total"):
        raise Failed("no connection went for another one, so nothing was tried")
    for addresses, ways in lost.items():
        if sum(ways.values()) > door.MOST_LOST * CREATES * len(ways):
            raise Failed(f"creates without values beside strangers of {addresses} addresses, by way: {ways}")
    return f"without values: {lost}"
