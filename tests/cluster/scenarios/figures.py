# SPDX-License-Identifier: Apache-2.0
"""Prints figures of docs/operate/operations.md, as tests/bench/figures.py reads them: `make figures ONLY=cluster`. Begins
where nothing is installed."""
import os
import pathlib
import sys
import threading
import time

from installation import Installation
from load import Load
from process import Failed
from scenarios.envfile import opt_in
from scenarios.removal import uninstall
from session import pod

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from figures import figure  # noqa: E402

NAME = "figures: to the first pod with values, a pod's start by carrier, and what our programs take"
PODS = int(os.environ.get("CLUSTER_PODS", "5"))
RESOLVER = b"resolve"
CARRIERS = {"none": None, "File": {}, "EnvFile": {},
            "an init container that looks": {"exposure": "SubInterface"}}


def first_pod(session):
    """Seconds from the first command to a running process with values, images there."""
    uninstall(session)
    begin = time.monotonic()
    Installation(session, session.state).apply()
    session.opt_in("first")
    session.run(pod("first", "train"))
    took = time.monotonic() - begin
    session.clear("first")
    return took


def place(carrier):
    return "figures-" + carrier.split()[-1].lower()


def starts(session):
    """Seconds from create to a running process, by carrier, pods of all in turn."""
    for carrier, spec in CARRIERS.items():
        if spec is None:
            session.plain(place(carrier))
        elif carrier == "EnvFile":
            opt_in(session, place(carrier))
        else:
            session.opt_in(place(carrier), **spec)
    took = {carrier: [] for carrier in CARRIERS}
    for number in range(PODS):
        for carrier, seconds in took.items():
            begin = time.monotonic()
            session.run(pod(place(carrier), f"p{number}", host_network=False))
            seconds.append(time.monotonic() - begin)
            session.api.delete("Pod", place(carrier), f"p{number}", grace=0)
    return {f"start_{carrier.split()[-1].lower()}_s": seconds for carrier, seconds in took.items()}


class Taken:
    """Reads from a process's control group what it takes, as long as the group is there."""

    def __init__(self, process):
        self.memory, self.cpu = process.group("memory"), process.group("cpuacct")
        self.two = (self.memory / "memory.current").exists()

    def bytes(self, most=False):
        names = ("memory.current", "memory.peak") if self.two else ("memory.usage_in_bytes", "memory.max_usage_in_bytes")
        return int((self.memory / names[most]).read_text())

    def seconds(self):
        if self.two:
            return int((self.cpu / "cpu.stat").read_text().split()[1]) / 1e6
        return int((self.cpu / "cpuacct.usage").read_text()) / 1e9


class Witness(threading.Thread):
    """Looks for a new init container of ours, and at it until it ends; most bytes and seconds of CPU, None if it saw none."""

    def __init__(self, session):
        super().__init__(daemon=True)
        self.session, self.known, self.last, self.ending = session, set(session.tasks()), None, threading.Event()

    def run(self):
        while not self.last and not self.ending.is_set():
            for container in self.session.tasks() - self.known:
                process = self.session.process_of("//" + container)
                if process and RESOLVER in process.command_line():
                    self.follow(process)

    def follow(self, process):
        try:
            group = Taken(process)
            while RESOLVER in process.command_line():  # an ended one is said to be in the first of all groups
                self.last = group.bytes(most=True), group.seconds()
        except OSError:
            pass


def resolver(session):
    """It runs for a moment, which the witness may miss: then another pod."""
    for number in range(20):
        witness = Witness(session)
        witness.start()
        session.run(pod(place("an init container that looks"), f"seen-{number}", host_network=False))
        witness.ending.set()
        witness.join()
        if witness.last:
            return witness.last
    raise Failed("no init container was seen in 20 pods")


def programs(session):
    """By control group, page cache included."""
    replicas, (agent,) = ([Taken(process) for process in session.ours(program).values()] for program in ("webhook", "agent"))
    busy, idle, begin = sum(one.seconds() for one in replicas), agent.seconds(), time.monotonic()
    with Load(session, place("File")) as load:
        time.sleep(10)
    busy, idle = sum(one.seconds() for one in replicas) - busy, agent.seconds() - idle
    most, used = resolver(session)
    return {"replica_mb": [max(one.bytes() for one in replicas) / 1e6], "replica_us_a_create": [busy / len(load.answers) * 1e6],
            "agent_mb": [agent.bytes() / 1e6], "agent_cpu_percent": [idle / (time.monotonic() - begin) * 100],
            "init_container_mb": [most / 1e6], "init_container_cpu_ms": [used * 1000]}


def run(session):
    for name, values in {"first_pod_s": [first_pod(session)], **starts(session), **programs(session)}.items():
        print(figure(name, values))
    session.clear(*map(place, CARRIERS))
    return f"{PODS} pods a carrier"
