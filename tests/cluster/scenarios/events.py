# SPDX-License-Identifier: Apache-2.0
"""The DaemonSet's agent over what changes in its /sys and on the node's interfaces."""
import subprocess
import time

from agents import write_sys
import node
from process import eventually
from session import HCAS, expect, pod

LINK, PORT = "rail3", HCAS[3]
SECONDS = 30  # a look follows an event within two; without any the next is due after 60

NAME = "events: the agent's table, and pods that are created then, follow /sys"


def flap():
    """The kernel tells of a link: the agent looks."""
    for state in ("down", "up"):
        subprocess.run(["ip", "link", "set", LINK, state], check=True)


def follows(session, what, check):
    begin = time.monotonic()
    flap()
    eventually(what, check, limit=SECONDS)
    return time.monotonic() - begin


def rows(session):
    """The GID rows of all ports in the table."""
    ports = session.api.get("NodeFabric", None, node.NAME)["observed"]["ports"]
    return {row.split()[0] for port in ports for row in port["gidRows"]}


def new_pod_has(session, what, **wanted):
    session.pod_that(f"a pod {what} has {wanted}", pod("events", what.replace(" ", "-")),
                     lambda _, process: {variable: process.has().get(variable) for variable in wanted} == wanted)


def run(session):
    # Else three ports that look alike might be anything: AmbiguousFabric.
    session.opt_in("events", fabric={"hcas": ["mlx5_*"]})
    whole, three = "=" + ",".join(HCAS), "=" + ",".join(HCAS[:3])
    old = session.run(pod("events", "old"))

    session.set_state(PORT, "1: DOWN")
    slowest = follows(session, "a port is down", lambda: session.ports_of().get(PORT) == "Down")
    # A flap costs no rail: docs/operate/operations.md.
    new_pod_has(session, "beside a port down", NCCL_IB_HCA=whole)
    session.set_state(PORT, "4: ACTIVE")
    slowest = max(slowest, follows(session, "it is back", lambda: session.ports_of().get(PORT) == "Active"))

    device = session.sys / "class/infiniband" / PORT
    target = device.readlink()
    device.unlink()
    slowest = max(slowest, follows(session, "a device is gone", lambda: PORT not in session.ports_of()))
    new_pod_has(session, "without the device", NCCL_IB_HCA=three)
    device.symlink_to(target)
    slowest = max(slowest, follows(session, "it is back", lambda: list(session.ports_of()) == HCAS))

    write_sys(session.sys, HCAS, 5)  # the driver has built its table anew
    slowest = max(slowest, follows(session, "GIDs have moved", lambda: rows(session) == {"5"}))
    # For a day no index is pinned that has just been another one.
    new_pod_has(session, "after a move", NCCL_IB_GID_INDEX=None, NCCL_IB_HCA=whole)
    expect("a pod that ran before", old.has()["NCCL_IB_GID_INDEX"], "3")
    session.clear("events")
    return f"an event is in the table after {slowest:.1f} s at most"
