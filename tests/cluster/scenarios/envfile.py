# SPDX-License-Identifier: Apache-2.0
"""EnvFile on a real kubelet: variables that are there or not set at all, never empty. With CLUSTER_GATE_OFF the same where
the API server or the kubelet lacks the gate."""
import json
import os

from node import NAME as NODE
from process import eventually
from session import HCAS, expect, pod

NAME = "envfile: environment variables by fileKeyRef, their absence, and what takes their place"
CONSTANTS = {"NCCL_IB_TIMEOUT": "22"}
VALUES = {"NCCL_IB_HCA": ",".join(HCAS), "NCCL_IB_GID_INDEX": "3"}


def carrier(session, name):
    return session.api.get("NcclPolicy", None, name).get("status", {}).get("carrier")


def opt_in(session, name, exposure="Host", holds="EnvFile", **spec):
    session.opt_in(name, exposure, delivery=["EnvFile"], **spec)
    eventually(f"the status of {name} says {holds}", lambda: carrier(session, name) == holds)
    eventually("the webhook knows it", lambda: (word(session.api.create(pod(name, "probe"), "?dryRun=All"))
                                                == ("EnvFile" if holds == "EnvFile" else "File")))


def word(made, container="main"):
    """How the status says that the list comes."""
    told = json.loads(made["metadata"]["annotations"]["nccl-env.io/status"])["containers"][container]
    return told["set"].get("NCCL_IB_HCA", told.get("omitted", {}).get("NCCL_IB_HCA"))


def values(session):
    """Of the node's network: what the Binding gave. The image's own nccl.conf stays visible, and no variable is empty."""
    session.load_image("nccl-env.test/ownconf:1", env=("NCCL_IB_SL=5", "NCCL_IB_ADDR_FAMILY=AF_INET"),
                       files={"/etc/nccl.conf": b"NCCL_IB_TC=106\n"})
    process = session.run(pod("envfile", "host", "nccl-env.test/ownconf:1"))
    expect("EnvFile", process.variables(), {**CONSTANTS, **VALUES, "NCCL_IB_SL": "5", "NCCL_IB_ADDR_FAMILY": "AF_INET"})
    expect("the image's nccl.conf", process.conf(), {"NCCL_IB_TC": "106"})
    expect("the init container's end", session.resolver("envfile", "host")["state"]["terminated"]["exitCode"], 0)
    told = session.explained("envfile", "host")
    given = {value["name"]: (value["value"], value["source"]) for one in told["containers"] if one["name"] == "main"
             for value in one["env"]}
    expect("explain", {name: given[name] for name in VALUES}, {name: (value, "EnvFile") for name, value in VALUES.items()})
    session.kill(process)
    again = session.running("envfile", "host", after=process)
    expect("after a restart", {name: again.variables().get(name) for name in VALUES}, VALUES)


def absent(session):
    """A pod that looks finds no RDMA device on this machine, and a node without a table has nothing: nothing is set."""
    opt_in(session, "envfile-look", "PodOwned")
    process = session.run(pod("envfile-look", "look", host_network=False))
    expect("nothing found", (process.variables(), process.conf()), (CONSTANTS, None))
    opt_in(session, "envfile-strange", fabric={"hcas": ["nothing_*"]})
    process = session.run(pod("envfile-strange", "none"))
    expect("no port of the fabric", process.variables(), CONSTANTS)
    told = session.explained("envfile-strange", "none", code=1)
    reasons = {some["name"]: some["reason"] for one in told["containers"] if one["name"] == "main" for some in one["omitted"]}
    expect("explain has the node's reason", reasons.get("NCCL_IB_HCA"), "NoFabricPort")


def not_bound(session):
    """No webhook at the Binding: the hook of Bindings is away for a moment."""
    hooks = session.api.get("MutatingWebhookConfiguration", None, "nccl-env")
    without = [hook for hook in hooks["webhooks"] if not any("pods/binding" in rule["resources"] for rule in hook["rules"])]
    try:
        session.api.merge("MutatingWebhookConfiguration", None, "nccl-env", {"webhooks": without})
        # API servers take a moment to see a changed configuration.
        name, process = session.pod_that("a pod that was not bound by us runs", pod("envfile", "unbound"), lambda name, _: (
            "nccl-env.io/node" not in session.api.get("Pod", "envfile", name)["metadata"]["annotations"]))
        expect("not bound", process.variables(), CONSTANTS)
    finally:
        session.api.merge("MutatingWebhookConfiguration", None, "nccl-env", {"webhooks": hooks["webhooks"]})
    expect("its reason", "NotBound" in session.resolver("envfile", name)["state"]["terminated"]["message"], True)
    session.pod_that("Bindings are answered again", pod("envfile", "bound"),
                     lambda _, process: "NCCL_IB_HCA" in process.variables())


def old_kubelet(session):
    """A kubelet without the field leaves the variables empty; where the table says so, it is told, and Deny holds."""
    opt_in(session, "envfile")
    process = session.run(pod("envfile", "unseen"))
    expect("a kubelet without the gate", process.variables(), {**CONSTANTS, **dict.fromkeys(VALUES, ""),
                                                               "NCCL_IB_ADDR_FAMILY": ""})
    with session.without_agent():
        session.api.merge("NodeFabric", None, NODE, {"observed": {"kubeletVersion": "v1.34.9"}})
        name, _ = session.pod_that("a Binding says so", pod("envfile", "old"), lambda name, _: "KubeletTooOld" in
                                   session.api.get("Pod", "envfile", name)["metadata"]["annotations"]["nccl-env.io/node"])
        expect("explain says so", "KubeletTooOld" in str(session.explained("envfile", name, code=1)), True)
        opt_in(session, "envfile-deny", onUnresolved="Deny")
        session.api.create(pod("envfile-deny", "held"))
        eventually("Deny holds the pod", lambda: "KubeletTooOld" in session.kubectl(
            "-n", "envfile-deny", "get", "events", "--field-selector", "involvedObject.name=held"))


def no_gate(session):
    """An API server without the gate: the status says so, and pods have their values by File."""
    opt_in(session, "envfile", holds="EnvFileUnavailable")
    process = session.run(pod("envfile", "file"))
    expect("without the gate", ({name: process.has()[name] for name in VALUES}, process.variables()),
           ({**VALUES, "NCCL_IB_HCA": "=" + VALUES["NCCL_IB_HCA"]}, CONSTANTS))


def run(session):
    gate_off = os.environ.get("CLUSTER_GATE_OFF", "")
    if gate_off:
        {"kube-apiserver": no_gate, "kubelet": old_kubelet}[gate_off](session)
        return
    opt_in(session, "envfile")
    values(session)
    absent(session)
    not_bound(session)
    session.clear("envfile", "envfile-look", "envfile-strange")
