# SPDX-License-Identifier: Apache-2.0
"""Right values of a pod, from what the fixture wrote and when it did. Nothing of ours is asked: the shapes of fleet.py
say what is right for their nodes, and the API server's audit log says which hooks answered."""
import contextlib
import json
import math
import os
import re
import threading
import time

from fleet import INFINIBAND, LAG, ROCE, move_index, node_table
from objects import annotations_of, env_of, hca_list, timestamp
from process import Failed

RAILS = {ROCE: 8, INFINIBAND: 8, LAG: 4}  # the first ports of each shape; the others are no fabric
WELL, DOWN, STALE, GONE = "well", "down", "stale", "gone"
REASONS = {DOWN: "NoFabricPort", STALE: "StaleTable", GONE: "NoTable"}


def shape_of(number):
    return (ROCE, INFINIBAND, LAG)[number % 3]


def make_table(name, number, state):
    """The table of a node in this state: the HCAs' names contain the version, and the index depends on it."""
    kind, version = state
    table = node_table(name, shape_of(number), number)
    observed = table["observed"]
    observed["time"] = timestamp(4 * 3600 if kind == STALE else 0)
    for port in observed["ports"][:RAILS[shape_of(number)]]:
        port["hca"] += f"_v{version}"
        if kind == DOWN:
            port.update(state="Down", stateSince=timestamp(7200))
        if port["linkLayer"] == "Ethernet":
            move_index(port, 3 + version % 5)
    return table


def node_values(number, state):
    """Values that a pod on this node has from it."""
    kind, version = state
    if kind in (DOWN, GONE):
        return {}
    first, prefix = {ROCE: (1, "mlx5_"), INFINIBAND: (0, "mlx5_"), LAG: (0, "mlx5_bond_")}[shape_of(number)]
    hcas = hca_list(f"{prefix}{first + rail}_v{version}" for rail in range(RAILS[shape_of(number)]))
    index = {} if shape_of(number) == INFINIBAND else {"NCCL_IB_GID_INDEX": str(3 + version % 5)}
    return {"NCCL_IB_HCA": hcas, **index}


class State:
    """`begin`, `done`: times of the write that made it; `until`: when every live replica knew a later state."""

    def __init__(self, what, begin, done=math.inf):
        self.what, self.begin, self.done, self.until = what, begin, done, math.inf


class History:
    """States of one object. A pod may be given any that may have been known at some moment of its request."""

    def __init__(self, what):
        self.states = [State(what, 0, 0)]

    @property
    def what(self):
        return self.states[-1].what

    def begin(self, what):
        self.states.append(State(what, time.monotonic()))

    def done(self):
        self.states[-1].done = time.monotonic()

    def settle(self):
        """Every live replica knows the last one."""
        for state in self.states[:-1]:
            state.until = min(state.until, time.monotonic())

    def during(self, begin, end):
        """Each possible state, and for how long the next one had been written at `begin`."""
        for state, later in zip(self.states, [*self.states[1:], State(None, math.inf)]):
            if state.begin <= end and begin <= state.until:
                yield state.what, begin - later.done


class Audit(threading.Thread):
    """Follows the API server's audit log: reason of a hook's answer, or OPEN where none answered, by pod and request."""
    OPEN = "failed open"
    EVENT = '{"kind":"Event","apiVersion":"audit.k8s.io/'

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.told, self.ended = path, {}, False
        self.start()

    def run(self):
        self.path.touch()
        log, rest = self.path.open(), ""
        log.seek(0, os.SEEK_END)
        while not self.ended:
            text = log.read()
            if not text:
                if os.fstat(log.fileno()).st_ino != self.path.stat().st_ino:
                    rest += log.read()  # the old file gets no more once another one has its name
                    log = self.path.open()
                    continue
                time.sleep(0.1)
            *lines, rest = (rest + text).split("\n")
            for line in lines:
                self.take_line(line)

    def take_line(self, line):
        """An API server that is killed while it writes leaves part of an event, and the next one writes on behind it."""
        *cut, last = re.split(f"(?={self.EVENT})", line)
        for event in cut:
            with contextlib.suppress(ValueError):
                self.take(json.loads(event))
        self.take(json.loads(last))

    def take(self, event):
        if event.get("responseStatus", {}).get("code", 500) >= 300:
            return
        reference, told = event["objectRef"], None
        for key, value in event.get("annotations", {}).items():
            if key.startswith("failed-open.mutation.webhook"):
                told = self.OPEN
            elif key.endswith(".nccl-env.io/reason") and told is None:
                told = value
        self.told[reference["name"], reference.get("subresource", "")] = told


class Made:
    """A pod as it was read after its Binding; `create` and `bind` are begin and end of all tries."""

    def __init__(self, name, number, create):
        self.name, self.number, self.create, self.bind = name, number, create, create
        self.seen, self.node = None, {}

    def read(self, pod):
        if pod:
            self.seen = {name: value for name, value in env_of(pod).items() if name.startswith("NCCL_") and value}
            self.node = json.loads(annotations_of(pod).get("nccl-env.io/node", "{}"))


RIGHT, EMPTY, MISSED, UNREAD = "right", "empty with the true reason", "missed", "gone before it was read"


def judge(made, policies, tables, told):
    """Verdict, with EMPTY the reason and with MISSED the request, and for how long another state of the table had been
    written at the Binding; Failed for a pod that has what it must not have, or nothing without a true reason."""
    if made.seen is None:
        return UNREAD, None, 0
    versions = [version for version, _ in policies.during(*made.create)]
    constants = [{"NCCL_IB_TIMEOUT": "22", "NCCL_SOCKET_IFNAME": f"eth{version}"} for version in versions
                 if version is not None]
    states = list(tables.during(*made.bind))[::-1]  # the newest of equal ones
    # The index is right beside the list of its own policy alone.
    edited = len({*versions, *(version for version, _ in policies.during(*made.bind))}) > 1
    changed = edited and made.node.get("omitted", {}).get("host", {}).get("NCCL_IB_GID_INDEX") == "PolicyChanged"
    for state, late in states:
        values = node_values(made.number, state)
        if values and changed:
            values.pop("NCCL_IB_GID_INDEX", None)
        if values and any(made.seen == {**given, **values} for given in constants):
            return RIGHT, None, late
    if not made.seen:
        # If a killed API server did not log the create, the worst is assumed.
        reason = told.get((made.name, ""), "PolicyMissing" if None in versions else Audit.OPEN)
        if reason == Audit.OPEN:
            return MISSED, "create", 0
        if reason == "PolicyMissing" and None in versions:
            return EMPTY, reason, 0
    elif made.seen in constants:
        reason = made.node.get("reason") or made.node.get("omitted", {}).get("host", {}).get("NCCL_IB_HCA")
        if not made.node:  # where a replica could not read the pod, the log alone has the reason
            reason = told.get((made.name, "binding"), Audit.OPEN)
        if reason == Audit.OPEN:
            return MISSED, "Binding", 0
        true = {REASONS[state[0]]: late for state, late in reversed(states) if state[0] in REASONS}
        if None in [version for version, _ in policies.during(*made.bind)]:
            true["PolicyMissing"] = 0
        if reason in true:
            return EMPTY, reason, true[reason]
    raise Failed(f"{made.name} on node {made.number} has {made.seen}, its Binding said {made.node}, audit "
                 f"{told.get((made.name, ''))!r} and {told.get((made.name, 'binding'))!r}; policies {versions}, "
                 f"states of the table {states}")
