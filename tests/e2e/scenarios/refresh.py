# SPDX-License-Identifier: Apache-2.0
"""What the agents of a large cluster cost its API server (the long form only)."""
import concurrent.futures
import signal
import time

from agents import write_sys
from objects import expect
from process import Failed, Process, eventually

NAME = "11 refresh: 500 agents write as often as designed, and come back after the API server"

AGENTS = 500
REFRESH = 120  # seconds in place of an hour: 500 agents then write as often as 15 000 do
# The first refresh comes after 96 to 144 s, the second not before 192 s: in between each agent has made two writes.
BETWEEN = 176
SLACK = 30     # seconds within which the agents have to start, for that to hold


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


def peak_rate(cluster, end):
    """Writes a second in the worst five seconds until then."""
    samples = []
    while time.monotonic() < end:
        samples.append((time.monotonic(), sum(writes(cluster))))
        time.sleep(5)
    return max((count - before) / (at - earlier) for (earlier, before), (at, count) in zip(samples, samples[1:]))


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
        eventually("every table is there", lambda: newest_everywhere(cluster, 2), 120, 1)
        all_there = time.monotonic() - begin
        if all_there > SLACK:
            raise Failed(f"the agents took {all_there:.0f} s to start")
        peak = peak_rate(cluster, begin + BETWEEN)
        expect("how often the tables were written", set(writes(cluster)), {2})
        cluster.plane.apiserver.end(limit=2)
        write_sys(sys, ["mlx5_1", "mlx5_2", "mlx5_3"], 3)  # what is published later is the newest
        time.sleep(10)
        cluster.plane.apiserver.start()
        cluster.plane.wait_ready()
        begin = time.monotonic()
        eventually("every table is the newest again", lambda: newest_everywhere(cluster, 3), 150, 1)
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
    return (f"{AGENTS} tables after {all_there:.0f} s, one refresh each within {BETWEEN} s, at most {peak:.0f} a second; all "
            f"newest {back:.0f} s after the API server came back, at most {resident:.0f} MiB resident")
