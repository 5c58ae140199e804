# SPDX-License-Identifier: Apache-2.0
"""docs/operate/operations.md from a former state, and back, while pods of all kinds run and wait."""
import pathlib
import subprocess

from installation import archives, write_overlay
from load import Load
from process import Failed, eventually
from scenarios.envfile import word
from scenarios.removal import uninstall
from session import SOURCE, expect, pod

NAME = "upgrade: pods of the former state run on, those that wait have their values, none is missed; and back"
WORKLOADS = ("deployment/nccl-env-webhook", "daemonset/nccl-env-agent")
FORMER = "former"
# By EnvFile; by File, the default; by an init container that finds nothing here but the constant.
KINDS = {"upgrade-env": ("Host", {"delivery": ["EnvFile"]}), "upgrade-file": ("Host", {}), "upgrade-look": ("SubInterface", {})}
MOMENTS = ("rolling", "after", "back")


def former_state():
    """Its checkout; None where the history does not reach so far."""
    done = subprocess.run([SOURCE / "tests/cluster/former"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 3):
        raise Failed(f"tests/cluster/former: exit {done.returncode}")
    return pathlib.Path(done.stdout.strip()) if done.returncode == 0 else None


def load_former(session, place):
    """The former archives hold the names of the new ones: they get a tag of their own."""
    for program in ("webhook", "agent"):
        name = f"docker.io/library/nccl-env-{program}"
        session.ctr("images", "import", place / f"build/image/nccl-env-{program}.oci.tar")
        session.ctr("images", "tag", "--force", f"{name}:0.1.0", f"{name}:{FORMER}")
    for archive in archives(session.state):
        session.ctr("images", "import", archive)


def waiting(namespace, name):
    """Created and not bound until `let_go`."""
    return pod(namespace, name, host_network=KINDS[namespace][0] == "Host", spec={"schedulingGates": [{"name": "test.io/wait"}]})


def let_go(session, moment):
    """What the pods have that waited until now, by namespace."""
    for namespace in KINDS:
        session.api.merge("Pod", namespace, moment, {"spec": {"schedulingGates": []}})
    return {namespace: session.running(namespace, moment) for namespace in KINDS}


def made(session, name):
    return {namespace: session.run(pod(namespace, name, host_network=exposure == "Host"))
            for namespace, (exposure, _) in KINDS.items()}


def values(processes):
    """What NCCL finds, without what is set empty, and with the list in one form."""
    return {namespace: {name: value.lstrip("=") for name, value in process.has().items() if value}
            for namespace, process in processes.items()}


def upgrade(session, processes):
    """As the page says; pods that wait are bound while the programs are replaced, and afterwards."""
    before = {namespace: process.has() for namespace, process in processes.items()}
    wanted = values(processes)
    with Load(session, "upgrade-env") as load:
        session.kubectl("apply", "-k", session.state / "manifests/overlays/recorded")
        expect("bound while rolled", values(let_go(session, "rolling")), wanted)
        session.rolled_out(*WORKLOADS)
        expect("bound after it", values(let_go(session, "after")), wanted)
    load.expect_none_missed("while upgraded")
    expect("new pods", values(made(session, "new")), wanted)
    expect("pods that ran before", {name: process.has() for name, process in processes.items()}, before)
    for namespace, process in processes.items():
        session.kill(process)
        again = session.running(namespace, "old", after=process)
        expect(f"a container of {namespace}, started again", again.has(), before[namespace])
    session.command("nccl-env", "check")
    return f"upgraded {load.figures()}"


def back(session, overlay, wanted):
    """Agents first; the newer CRDs stay. An older webhook may give less to pods that a newer one admitted, and nothing else."""
    newer = {namespace: session.running(namespace, "new") for namespace in KINDS}
    before = {namespace: process.has() for namespace, process in newer.items()}
    for namespace in KINDS:
        session.api.create(waiting(namespace, "back"))
    with Load(session, "upgrade-env") as load:
        for workload in reversed(WORKLOADS):
            session.kubectl("apply", "-k", overlay, "-l", f"app.kubernetes.io/name={workload.split('/')[1]}")
            session.rolled_out(workload)
        for namespace, found in values(let_go(session, "back")).items():
            if not found.items() <= wanted[namespace].items():
                raise Failed(f"bound after the way back in {namespace}: {found}")
    load.expect_none_missed("on the way back")
    expect("new pods after it", values(made(session, "last")), wanted)
    expect("pods of the newer state", {name: process.has() for name, process in newer.items()}, before)
    return f"back {load.figures()}"


def run(session):
    place = former_state()
    if not place:
        return "not run, for want of the former commit"
    uninstall(session)
    load_former(session, place)
    overlay = write_overlay(place, session.state, FORMER, tag=FORMER)
    session.kubectl("apply", "-k", overlay)
    session.rolled_out(*WORKLOADS)
    for namespace, (exposure, spec) in KINDS.items():
        # By which both states pin an index.
        session.opt_in(namespace, exposure, gidIndex="Auto", nccl={"minVersion": "2.20.5"}, **spec)
    eventually("the node has a table", lambda: session.ports_of())
    eventually("one has EnvFile", lambda: word(session.api.create(pod("upgrade-env", "probe"), "?dryRun=All")) == "EnvFile")
    images = {some["spec"]["containers"][0]["image"] for program in ("webhook", "agent") for some in session.pods_of(program)}
    expect("images", images, {f"nccl-env-{program}:{FORMER}" for program in ("webhook", "agent")})
    processes = made(session, "old")
    wanted = values(processes)
    for namespace in KINDS:
        for moment in MOMENTS[:2]:
            session.api.create(waiting(namespace, moment))
    figures = [upgrade(session, processes), back(session, overlay, wanted)]
    session.clear(*KINDS)
    uninstall(session)
    return ", ".join(figures)
