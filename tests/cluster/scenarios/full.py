# SPDX-License-Identifier: Apache-2.0
"""Disks without room: that of the pods' logs, and the one on which the kubelet keeps a pod's files."""
import pathlib
import shutil
import threading
import time

from load import Load
from node import NAME as NODE
from process import Failed, eventually
from scenarios.envfile import opt_in
from scenarios.events import follows
from session import HCAS, expect, pod, statuses

NAME = "full: without room for logs nothing is missed, and a pod on a full disk has its values"
PAGE = 4096


class Full:
    """Takes the room of a small disk, all but `spare` pages."""

    def __init__(self, folder, spare=0):
        self.path, self.spare = pathlib.Path(folder) / "full", spare
        room = shutil.disk_usage(folder).total
        if room > 1 << 28:  # the machine's own disk, which others need
            raise Failed(f"{folder} is not on a small disk, but on one of {room >> 20} MiB")

    def __enter__(self):
        self.fill(self.spare)
        return self

    def fill(self, spare=0):
        with self.path.open("ab", buffering=0) as file:
            for size in (PAGE * 256, PAGE):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError:  # no space left
                    pass
            file.truncate(file.tell() // PAGE * PAGE - spare * PAGE)

    def hold(self, ended):
        """Takes what others free until threading.Event `ended`."""
        while not ended.wait(0.01):
            self.fill()

    def hold_for(self, seconds):
        ended = threading.Event()
        threading.Timer(seconds, ended.set).start()
        self.hold(ended)

    def __exit__(self, *_):
        self.path.unlink()


def restarts(session):
    return sum(some["restartCount"] for program in ("webhook", "agent") for one in session.pods_of(program)
               for some in statuses(one))


def logs(session):
    """Both programs go on: the runtime takes their lines and drops them."""
    before = restarts(session)
    with Load(session, "full") as load, Full("/var/log/pods"):
        time.sleep(2)
        session.set_state(HCAS[3], "1: DOWN")
        follows(session, "a port is down", lambda: session.ports_of().get(HCAS[3]) == "Down")
        session.set_state(HCAS[3], "4: ACTIVE")
        follows(session, "it is back", lambda: session.ports_of().get(HCAS[3]) == "Active")
    load.expect_none_missed("without room for logs")
    expect("restarts", restarts(session), before)
    return f"no room for logs {load.figures()}"


class Filling:
    """Fills the disk of pods' files once the next pod's /etc/hosts is there, which the kubelet writes before it starts a
    container; little is left until then. It stays full until the end: the kubelet writes that file anew for each
    container, so no other may have to start until then."""

    def __init__(self, disk):
        self.disk, self.known, self.full = disk, set(disk.glob("*/etc-hosts")), Full(disk, spare=16)
        self.ended, self.thread = threading.Event(), threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.full.__enter__()
        self.thread.start()

    def __exit__(self, *error):
        self.ended.set()
        self.thread.join()
        self.full.__exit__(*error)

    def run(self):
        new = lambda: set(self.disk.glob("*/etc-hosts")) - self.known
        eventually("a pod has /etc/hosts", lambda: self.ended.is_set() or any(path.stat().st_size for path in new()),
                   limit=60, pause=0.001)
        self.full.hold(self.ended)


def values(session, disk, namespace, host_network):
    """The init container writes into memory, though the disk has no room for its files, nor for its message."""
    with Filling(disk):
        session.api.create(pod(namespace, "train", host_network=host_network))
        eventually(f"the init container of {namespace} has ended", lambda: "terminated" in session.resolver(
            namespace, "train").get("state", {}), limit=90)
    beside = session.run(pod(namespace, "beside", host_network=host_network))
    expect(f"{namespace}: its values", session.running(namespace, "train").has(), beside.has())
    session.command("nccl-env", "explain", "pod/train", "-n", namespace, code=0)


def waits(session, disk):
    """Without room for anything the pod waits for its kubelet, and has all values once there is some."""
    with Full(disk) as full:
        full.hold_for(1)  # the pods before may still free some
        session.api.create(pod("full", "waits"))
        full.hold_for(3)
        running = [one for one in statuses(session.api.get("Pod", "full", "waits")) if "running" in one.get("state", {})]
        if running:
            raise Failed("a pod runs on a node without room")
    expect("with room", session.running("full", "waits").has(), session.run(pod("full", "beside")).has())


def run(session):
    disk = session.state / NODE / "kubelet/pods"
    session.opt_in("full")
    session.opt_in("full-look", exposure="SubInterface")
    opt_in(session, "full-env")
    figures = logs(session)
    values(session, disk, "full-look", host_network=False)
    values(session, disk, "full-env", host_network=True)
    waits(session, disk)
    session.clear("full", "full-look", "full-env")
    return figures
