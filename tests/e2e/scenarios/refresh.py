# SPDX-License-Identifier: Apache-2.0
"""What the agents of a large cluster cost its API server (the long form only)."""
import concurrent.futures
import signal
import time

from agents import write_sys
from objects import expect
from process import PATIENCE, Failed, Process, eventually

NAME = "11 refresh: 500 agents write as often as designed, and come back after the API server"

AGENTS = 500
REFRESH = 120  # seconds in place of an hour: 500 agents then write as often as 15 000 do
EARLIEST, LATEST = 0.8 * REFRESH, 1.2 * REFRESH  # from one write to the next
BACKOFF = 120  # seconds: the longest pause of an agent whose writes fail


def names():
    return [f"fleet-{number}" for number in range(AGENTS)]


def for_each(call):
    with concurrent.futures.ThreadPoolExecutor(8) as clients:
        list(clients.map(call, names()))


def tables(cluster):
    return [some for some in cluster.api.list("NodeFabric") if some["metadata"]["name"].startswith("fleet-")]


def writes(cluster):
    """How often each table was written: that makes a generation, since `observed` is no status."""
    return [some["metadata"]["generation"] for some in tables(cluster)]


def newest_everywhere(cluster, hcas):
    found = tables(cluster)
    return len(found) == AGENTS and all(len(some["observed"]["ports"]) == hcas for some in found)


def refreshed(cluster):
    """Once each table was written again: writes a second in the worst five seconds until then."""
    samples = []

    def all_again():
        counts = writes(cluster)
        samples.append((time.monotonic(), sum(counts)))
        return min(counts) > 1
    eventually("every table is written again", all_again, LATEST + PATIENCE, 5)
    return max(((count - before) / (at - earlier) for (earlier, before), (at, count) in zip(samples, samples[1:])),
               default=0)


def run(cluster):
    for_each(cluster.plane.add_node)
    sys, log = cluster.directory / "fleet-sys", cluster.directory / "fleet.log"
    write_sys(sys, ["mlx5_1", "mlx5_2"], 3)
    begin = time.monotonic()
    fleet = [Process(name, [cluster.programs / "nccl-env-agent", "run", "--node-name", name, "--store", "kubernetes",
                            "--kubeconfig", cluster.plane.kubeconfig, "--ops-listen", "127.0.0.1:0", "--sysfs", sys,
                            "--refresh", f"{REFRESH}s", "--look", "5s", "--log-level", "error"], log)
             for name in names()]
    try:
        eventually("every table is there", lambda: newest_everywhere(cluster, 2), pause=1)
        all_there = time.monotonic() - begin
        peak = refreshed(cluster)
        most, between = max(writes(cluster)), time.monotonic() - begin
        if most > 1 + between // EARLIEST:
            raise Failed(f"a table was written {most} times within {between:.0f} s")
        cluster.plane.apiserver.end(limit=2)
        write_sys(sys, ["mlx5_1", "mlx5_2", "mlx5_3"], 3)  # what is published later is the newest
        time.sleep(10)
        cluster.plane.apiserver.start()
        cluster.plane.wait_ready()
        begin = time.monotonic()
        eventually("every table is the newest again", lambda: newest_everywhere(cluster, 3), BACKOFF + PATIENCE,
                   1)
        back = time.monotonic() - begin
        resident = max(agent.resident_mib() for agent in fleet)
        expect("agents that ended", [agent.name for agent in fleet if not agent.alive()], [])
    finally:
        for agent in fleet:
            agent.process.send_signal(signal.SIGTERM)
        for agent in fleet:
            agent.end()
    for_each(lambda name: cluster.api.delete("NodeFabric", None, name))
    for_each(lambda name: cluster.api.delete("Node", None, name))
    return (f"{AGENTS} tables after {all_there:.0f} s, a refresh of each within {between:.0f} s, at most {peak:.0f} a "
            f"second; all newest {back:.0f} s after the API server came back, at most {resident:.0f} MiB resident")
