# SPDX-License-Identifier: Apache-2.0
"""Our programs while pods are created: rolled, killed, out of memory, and a node that is drained."""
import subprocess
import threading
import time

from node import NAME as NODE
from process import Failed, eventually
from session import HCAS, expect, is_ready, pod

NAME = "programs: no pod is missed while ours are rolled, drained or out of memory"
WEBHOOK, AGENT = "deployment/nccl-env-webhook", "daemonset/nccl-env-agent"


class Load:
    """Pods by dry run, from two clients; counts those that came back without values."""

    def __init__(self, session, namespace):
        self.session, self.manifest = session, pod(namespace, "asked")
        self.ending, self.asked, self.missed, self.slowest = threading.Event(), 0, 0, 0.0
        self.problem = None
        self.threads = [threading.Thread(target=self.ask, daemon=True) for _ in range(2)]

    def ask(self):
        try:
            while not self.ending.is_set():
                begin = time.monotonic()
                given = self.session.is_injected(self.manifest)
                self.slowest = max(self.slowest, time.monotonic() - begin)
                self.asked += 1
                self.missed += not given
                time.sleep(0.005)
        except Exception as problem:  # for the thread that waits
            self.problem = problem

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        for thread in self.threads:
            thread.join()
        if self.problem:
            raise Failed(f"a create failed: {self.problem}")

    def figures(self):
        return f"{self.asked - self.missed} of {self.asked} (longest {self.slowest * 1000:.0f} ms)"


def rollout(session, workload):
    session.kubectl("-n", "nccl-env", "rollout", "status", "--timeout=120s", workload)


def rolled(session):
    with Load(session, "programs") as load:
        for workload in (WEBHOOK, AGENT):
            session.kubectl("-n", "nccl-env", "rollout", "restart", workload)
        for workload in (WEBHOOK, AGENT):
            rollout(session, workload)
    expect("missed while rolled", load.missed, 0)
    expect("the table", list(session.ports_of()), HCAS)
    return "rolled " + load.figures()


def drained(session):
    """The budget keeps one replica where no other node can take it, and uncordon brings the other back."""
    with Load(session, "programs") as load:
        done = subprocess.run(["kubectl", "drain", NODE, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=8s",
                               "--pod-selector=app.kubernetes.io/name=nccl-env-webhook"], capture_output=True, text=True,
                              check=False)
        if done.returncode == 0 or "disruption budget" not in done.stdout + done.stderr:
            raise Failed(f"drain: exit {done.returncode}: {done.stdout}{done.stderr}")
        expect("replicas that are left", len(session.ours("webhook")), 1)
        session.kubectl("uncordon", NODE)
        eventually("both replicas are back", lambda: len(session.ours("webhook")) == 2)
    expect("missed while drained", load.missed, 0)
    return "drained " + load.figures()


def starve(process):
    """Takes the container's memory away until the kernel ends it: the limit follows what is in use."""
    group = process.group("memory")
    two = (group / "memory.max").exists()
    used, limit = (group / ("memory.current" if two else "memory.usage_in_bytes"),
                   group / ("memory.max" if two else "memory.limit_in_bytes"))

    def ended():
        try:
            if not two:
                (group / "memory.force_empty").write_text("0")
            limit.write_text(used.read_text())
        except (FileNotFoundError, ProcessLookupError):
            return True
        except OSError:
            pass  # the kernel could not make it so small, and has ended nothing
        return not process.place.exists()
    eventually("the kernel ends the process", ended, pause=0.2)


def out_of_memory(session):
    """Requests in flight may pass without values, no later one; the table stays while the agent is away."""
    with Load(session, "programs") as load:
        for program in ("webhook", "agent"):
            name, process = next(iter(session.ours(program).items()))
            starve(process)
            expect("the table", list(session.ports_of()), HCAS)
            eventually(f"{name} is back", lambda: restarted(session, name))
            status = session.api.get("Pod", "nccl-env", name)["status"]["containerStatuses"][0]
            expect(f"the end of {name}", status["lastState"]["terminated"]["reason"], "OOMKilled")
    if load.missed > len(load.threads):
        raise Failed(f"a replica was out of memory: {load.missed} pods of {load.asked} were missed")
    return f"out of memory {load.figures()}"


def restarted(session, name):
    some = session.api.get("Pod", "nccl-env", name)
    return is_ready(some) and some["status"]["containerStatuses"][0]["restartCount"] > 0


def costs(session):
    """Memory of each program by its control group, and the replicas' CPU for a create."""
    def used(process):
        group = process.group("memory")
        path = group / "memory.current"
        return int((path if path.exists() else group / "memory.usage_in_bytes").read_text()) / 1e6

    def cpu():
        found = 0.0
        for process in session.ours("webhook").values():
            group = process.group("cpuacct")
            if (group / "cpu.stat").exists() and not (group / "cpuacct.usage").exists():
                found += int((group / "cpu.stat").read_text().split()[1]) / 1e6
            else:
                found += int((group / "cpuacct.usage").read_text()) / 1e9
        return found
    before = cpu()
    with Load(session, "programs") as load:
        time.sleep(4)
    each = (cpu() - before) / load.asked * 1e6
    memory = {program: max(map(used, session.ours(program).values())) for program in ("webhook", "agent")}
    return (f"webhook {memory['webhook']:.1f} MB and {each:.0f} µs of CPU for a create, agent {memory['agent']:.1f} MB")


def run(session):
    session.opt_in("programs")
    figures = [costs(session), rolled(session), drained(session), out_of_memory(session)]
    session.clear("programs")
    return ", ".join(figures)
