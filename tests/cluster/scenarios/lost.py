# SPDX-License-Identifier: Apache-2.0
"""A node loses its power, and one of the webhook's replicas with it. What is sent there is lost: nobody says so."""
import pathlib
import shutil
import time

from installation import archives
from load import Load
from node import Node
from process import Failed, eventually
from session import SPACES, expect

NAME = "lost: a node of the webhook's without power, who is missed until when, and its return"
WEBHOOK = "deployment/nccl-env-webhook"
HOOK = "pods.nccl-env.io"
HOOK_SECONDS = 5  # timeoutSeconds of manifests/base/hooks.yaml
STRICT = {"metadata": {"labels": {"nccl-env.io/strict": "true"}}}


def nodes_of_webhook(session):
    return sorted(some["spec"].get("nodeName", "") for some in session.pods_of("webhook"))


def spread(session, node):
    """A rollout, as after any change: one replica on each node."""
    session.kubectl("-n", "nccl-env", "rollout", "restart", WEBHOOK)
    session.rolled_out(WEBHOOK)
    expect("nodes of the webhook", nodes_of_webhook(session), ["gpu-1", node.name])


def lose(session, node):
    """Pods may be missed until Kubernetes has seen it, by timeouts; none after that, and never one in a strict namespace."""
    there = session.endpoints()
    counted = session.metric("apiserver_admission_webhook_fail_open_count", name=HOOK)
    with Load(session, "lost") as load, Load(session, "lost-strict", clients=1) as strict:
        time.sleep(2)
        begin = time.monotonic()
        node.lose_power()
        eventually("the webhook's Service has one endpoint", lambda: len(session.endpoints()) < len(there))
        seen = time.monotonic()
        time.sleep(2 * HOOK_SECONDS)
    # A client that waits when the endpoint goes may be missed yet.
    for some in (load, strict):
        some.expect_none_missed("after the endpoint is gone", since=seen + 1)
    expect("missed in a strict namespace", strict.missed, [])
    counted = session.metric("apiserver_admission_webhook_fail_open_count", name=HOOK) - counted
    expect("missed, by the metric of NcclEnvFailedOpen", counted, len(load.missed))
    longest = max((end - at for at, end in load.missed + strict.refused), default=0)
    if longest > HOOK_SECONDS + 5:
        raise Failed(f"a create waited for {longest:.1f} s")
    last = max((end for _, end in load.missed), default=begin)
    return (f"lost for {seen - begin:.0f} s until its endpoint is gone: {len(load.missed)} of {len(load.answers)} pods missed, "
            f"the last after {last - begin:.0f} s, none in a strict namespace ({len(strict.refused)} of {len(strict.answers)} "
            "refused)")


def come_back(session, node):
    with Load(session, "lost") as load:
        begin = time.monotonic()
        node.gain_power()
        eventually("both replicas are ready", lambda: len(session.endpoints()) == 2)
        took = time.monotonic() - begin
        time.sleep(2)
    load.expect_none_missed("while the node comes back")
    return f"back after {took:.0f} s, {load.figures()}"


def leave(session, node):
    """As after `kubectl delete node`; who ran there goes to the other."""
    node.stop()
    session.kubectl("delete", "node", node.name, "--ignore-not-found")
    for program in ("webhook", "agent"):
        for some in session.pods_of(program):
            if some["spec"].get("nodeName") == node.name:
                session.api.delete("Pod", SPACES[program], some["metadata"]["name"], grace=0)
    eventually("both replicas are on the first node", lambda: nodes_of_webhook(session) == ["gpu-1"] * 2)
    eventually("both are ready", lambda: len(session.endpoints()) == 2)


def run(session):
    session.opt_in("lost")
    session.opt_in("lost-strict")
    session.api.merge("Namespace", None, "lost-strict", STRICT)
    node = Node(pathlib.Path(shutil.which("kubelet")).parent, session.state, 2)
    try:
        node.start(archives(session.state))
        spread(session, node)
        figures = [lose(session, node), come_back(session, node)]
    finally:
        leave(session, node)
    session.clear("lost", "lost-strict")
    return ", ".join(figures)
