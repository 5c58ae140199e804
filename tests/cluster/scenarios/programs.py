# SPDX-License-Identifier: Apache-2.0
"""Our programs while pods are created: rolled, killed, out of memory, and a node that is drained."""
import subprocess
import time

from load import Load
from node import NAME as NODE
from process import Failed, eventually
from session import HCAS, SPACES, expect, is_ready

NAME = "programs: each in its namespace's Pod Security; no pod is missed while rolled or drained; how many out of memory"
WEBHOOK, AGENT = "deployment/nccl-env-webhook", "daemonset/nccl-env-agent"


def rolled(session):
    with Load(session, "programs") as load:
        for program, workload in (("webhook", WEBHOOK), ("agent", AGENT)):
            session.kubectl("-n", SPACES[program], "rollout", "restart", workload)
        session.rolled_out(WEBHOOK, AGENT)
    load.expect_none_missed("while rolled")
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
    load.expect_none_missed("while drained")
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
    """A replica that the kernel ends costs what it was asked, and what is sent to its address until it answers again; an
    agent costs nothing, and its table stays."""
    with Load(session, "programs") as load:
        for program in ("agent", "webhook"):
            name, process = next(iter(session.ours(program).items()))
            begin = time.monotonic()
            starve(process)
            expect("the table", list(session.ports_of()), HCAS)
            eventually(f"{name} is back", lambda: restarted(session, program, name))
            end = time.monotonic()
            status = session.api.get("Pod", SPACES[program], name)["status"]["containerStatuses"][0]
            expect(f"the end of {name}", status["lastState"]["terminated"]["reason"], "OOMKilled")
        time.sleep(2)
    early = [at for at, answered in load.missed if answered < begin]
    expect("missed beside an agent out of memory", early, [])
    load.expect_none_missed("a replica was out of memory, and is back", since=end + 0.5)
    return f"out of memory {load.figures()}, all missed within {end - begin:.1f} s"


def restarted(session, program, name):
    some = session.api.get("Pod", SPACES[program], name)
    return is_ready(some) and some["status"]["containerStatuses"][0]["restartCount"] > 0


def kept_to_levels(session):
    """A webhook that asks for the host's network is refused, and check tells why; the agent has it."""
    session.api.merge("Deployment", SPACES["webhook"], "nccl-env-webhook",
                      {"spec": {"template": {"spec": {"hostNetwork": True}}}})
    eventually("check says why", lambda: "violates PodSecurity" in session.command(
        "bash", "-c", "nccl-env check -o json; [ $? = 1 ]"))
    session.kubectl("-n", SPACES["webhook"], "rollout", "undo", WEBHOOK)
    session.rolled_out(WEBHOOK)
    expect("networks of agents", [some["spec"]["hostNetwork"] for some in session.pods_of("agent")], [True])


def run(session):
    session.opt_in("programs")
    kept_to_levels(session)
    figures = [rolled(session), drained(session), out_of_memory(session)]
    session.clear("programs")
    return ", ".join(figures)
