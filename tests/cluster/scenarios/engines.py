# SPDX-License-Identifier: Apache-2.0
"""Pairs of prefill and decode after public manifests (pairs/): what their processes have without us and with us, by engine.
Each pod is made of a template of the file as its controller would make it."""
import json
import pathlib

import yaml
from node import NAME as NODE
from process import eventually
from session import expect, pod

NAME = "engines: UCX, NVSHMEM and Gloo in public pairs of prefill and decode, without us and with us"
PAIRS = pathlib.Path(__file__).parent / "pairs"
IMAGE = "nccl-env.test/serving:1"
# vllm and python3 wait, whatever their arguments; what starts them is real.
SERVES = b"#!/bin/sh\ntrap 'exit 0' TERM; while :; do sleep 1 & wait; done\n"
PREFIXES = ("NCCL_", "UCX_", "NVSHMEM_", "GLOO_", "TP_", "MC_", "MOONCAKE_")
POLICY = {"engines": ["NCCL", "UCX", "NVSHMEM", "Gloo"], "socketInterface": "FromNode",
          "env": {"NCCL_IB_TIMEOUT": "22", "NCCL_IB_TC": "106"}}
CONSTANTS = {"NCCL_IB_TIMEOUT": "22", "NCCL_IB_TC": "106", "NVSHMEM_IB_TRAFFIC_CLASS": "106"}
FOLDER = {"UCX_CONFIG_DIR": "/nccl-env"}
CLASS_LINE = {"UCX_IB_TRAFFIC_CLASS": "106"}
# SGLang's pods: the devices of NCCL and of NVSHMEM in env.
SGLANG = {"NCCL_IB_HCA": "UserSet", "NCCL_IB_TC": "UserSet", "NCCL_IB_GID_INDEX": "UserSetGroup",
          "NVSHMEM_HCA_LIST": "UserSetGroup"}
# By pod: of what the node or the policy has a value, and the pod gets none. ucx.conf is one for all containers: it keeps its
# line beside a user's own variable, which beats it.
LEFT = {
    "vllm-nixl-prefill": {}, "vllm-nixl-decode": {}, "vllm-nixl-pinned": {"UCX_NET_DEVICES": "UserSet"},
    "mooncake-sglang-prefill-leader": SGLANG,
    "mooncake-sglang-prefill-worker": {**SGLANG, "NVSHMEM_IB_TRAFFIC_CLASS": "UserSet"},
    "mooncake-sglang-decode-worker": {**SGLANG, "NVSHMEM_IB_TRAFFIC_CLASS": "UserSet"},
    "mooncake-vllm-prefill-worker": {}, "mooncake-vllm-decode-worker": {},
    "deepep-prefill-worker": {}, "deepep-decode-worker": {
        "NCCL_IB_HCA": "UserSet", "NCCL_IB_GID_INDEX": "UserSetGroup", "NVSHMEM_HCA_LIST": "UserSetGroup"},
}


def templates(folder):
    """Pods by name: of the file, of its object, and of the role and template where it has several."""
    def find(value, name):
        if isinstance(value, list):
            for item in value:
                yield from find(item, f"{name}-{item['name']}" if "name" in item else name)
        elif isinstance(value, dict) and "containers" in value.get("spec", {}):
            yield name, value
        elif isinstance(value, dict):
            for key, inner in value.items():
                role = {"leaderTemplate": "-leader", "workerTemplate": "-worker"}.get(key, "")
                if isinstance(inner, dict) and "template" in inner:  # by role, as jobs have them
                    role = f"-{key.lower()}"
                yield from find(inner, name + role)
    for file in sorted(folder.glob("*.yaml")):
        for made in yaml.safe_load_all(file.read_text()):
            yield from find(made["spec"], f"{file.stem}-{made['metadata']['name']}")


def manifest(namespace, name, template):
    """Ends at once when it is deleted, as the other scenarios' pods do."""
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {**template.get("metadata", {}), "name": name, "namespace": namespace},
            "spec": {"terminationGracePeriodSeconds": 1, **template["spec"]}}


def on_host(template):
    return template["spec"].get("hostNetwork", False)


class Given:
    """The values of the node's table, in the words of each engine. The recorded /sys has no addresses, so that the agent has
    found no interface of the node's own: the bridge that its pods share is put in."""

    def __init__(self, session):
        self.interface = "cni0"
        session.api.merge("NodeFabric", None, NODE, {"observed": {"nodeInterface": self.interface}})
        observed = session.api.get("NodeFabric", None, NODE)["observed"]
        self.devices = ",".join(port["hca"] for port in observed["ports"])
        self.ports = ",".join(f"{port['hca']}:{port['port']}" for port in observed["ports"])

    def env(self, host_network):
        found = {"NCCL_IB_HCA": self.devices, "NCCL_IB_GID_INDEX": "3", "NVSHMEM_HCA_LIST": self.ports}
        exact = {"GLOO_SOCKET_IFNAME": self.interface, "TP_SOCKET_IFNAME": self.interface}
        grammar = dict.fromkeys(("NCCL_SOCKET_IFNAME", "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME"), f"={self.interface}")
        return found | exact | grammar if host_network else found

    def ucx(self, host_network):
        return {"UCX_NET_DEVICES": f"{self.ports},{self.interface if host_network else 'eth0'}", **CLASS_LINE}


def without(values, left):
    return {name: value for name, value in values.items() if name not in left}


def opt_in(session, namespace, delivery, **more):
    session.opt_in(namespace, delivery=delivery, **{**POLICY, **more})
    eventually("the webhook knows what carries its values", lambda: ("nccl-env-resolve" in json.dumps(
        session.api.create(pod(namespace, "probe"), "?dryRun=All"))) == ("EnvFile" in delivery))


def started(session, namespace, pods):
    """Processes by pod; all are created before the first is waited for."""
    for name, template in pods.items():
        session.api.create(manifest(namespace, name, template))
    return {name: session.running(namespace, name, template["spec"]["containers"][0]["name"])
            for name, template in pods.items()}


def reasons(session, namespace, name):
    """Reasons by variable, as the status of the pod says."""
    told = json.loads(session.api.get("Pod", namespace, name)["metadata"]["annotations"]["nccl-env.io/status"])
    return next(iter(told["containers"].values())).get("omitted", {})


def explained(session, name, namespace="engines"):
    """Each engine's block by its name, and all of it; these pods have findings, or none."""
    told = json.loads(session.command(
        "bash", "-c", f"nccl-env explain pod/{name} -n {namespace} -o json; [ $? -le 1 ]"))
    return {one["engine"]: one for one in told["engines"]}, told


def blocks(session, pods, given):
    """Of each engine, explain has the choice of its model, or that the user has decided."""
    for name in pods:
        found, told = explained(session, name)
        lines = {line["name"]: line["value"] for one in told["containers"] for line in one.get("engineFiles", [])}
        host = on_host(pods[name])
        expect(f"{name}: explain's lines of the files", lines,
               without(given.ucx(host), LEFT[name]))
        expect(f"{name}: explain's blocks", list(found), POLICY["engines"][1:])
        ucx = given.ports.split(",")
        expect(f"{name}: UCX with us", found["UCX"]["withUs"]["devices"], ucx[:1] if "pinned" in name else ucx)
        users = {engine: (one["usersChoice"] or "").split(" decides")[0] for engine, one in found.items()}
        wanted = dict.fromkeys(users, "")
        if "sglang" in name:
            wanted |= {"NVSHMEM": f"The container's NVSHMEM_{'HCA_PE' if 'prefill' in name else 'ENABLE_NIC_PE'}_MAPPING"}
        expect(f"{name}: engines whose devices the user has decided", users, wanted)


def plain(session, pods):
    """The pods by themselves."""
    session.plain("engines-plain")
    found = {}
    for name, process in started(session, "engines-plain", pods).items():
        expect(f"{name} without us: ucx.conf", process.file("/nccl-env/ucx.conf"), None)
        found[name] = process.variables(PREFIXES)
    return found


def by_env_file(session, pods, before, given):
    opt_in(session, "engines", ["EnvFile", "File"])
    bound(session, "engines", "first", pods["mooncake-sglang-prefill-leader"], "GLOO_SOCKET_IFNAME", given.interface)
    for name, process in started(session, "engines", pods).items():
        left, host = LEFT[name], on_host(pods[name])
        wanted = {**FOLDER, **without({**CONSTANTS, **given.env(host)}, left), **before[name]}
        expect(f"{name} by EnvFile", process.variables(PREFIXES), wanted)
        expect(f"{name}: ucx.conf", process.file("/nccl-env/ucx.conf"), given.ucx(host))
        told = reasons(session, "engines", name)
        expect(f"{name}: reasons", {variable: told.get(variable) for variable in left}, left)
    blocks(session, pods, given)


def by_file(session, pods, before, given):
    """The engines without a file of their own get constants alone, and the status says why."""
    opt_in(session, "engines-file", ["File"])
    of_host = {name: "EnginesUnavailable" for name in (
        "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME")}
    for name, process in started(session, "engines-file", pods).items():
        left, host = LEFT[name], on_host(pods[name])
        expect(f"{name} by File", process.variables(PREFIXES), {**FOLDER, **without(CONSTANTS, left), **before[name]})
        expect(f"{name} by File: ucx.conf", process.file("/nccl-env/ucx.conf"), given.ucx(host))
        lines = process.conf() or {}  # none where the user has decided about all of it
        others = [line for line in lines if not line.startswith("NCCL_")]
        expect(f"{name}: lines of other engines in nccl.conf", others, [])
        told = reasons(session, "engines-file", name)
        wanted = {"NVSHMEM_HCA_LIST": "EnginesUnavailable", **(of_host if host else {}), **left}
        expect(f"{name} by File: reasons", {variable: told.get(variable) for variable in wanted}, wanted)


def without_table(session, pods, before):
    """ucx.conf has the policy's constants or nothing, and no variable of a node is set."""
    name = "vllm-nixl-prefill"
    opt_in(session, "engines-bare", ["EnvFile", "File"], env={"NCCL_IB_TIMEOUT": "22"})
    session.api.delete("NodeFabric", None, NODE)
    for namespace, constants, lines in (("engines", CONSTANTS, CLASS_LINE),
                                        ("engines-bare", {"NCCL_IB_TIMEOUT": "22"}, {})):
        process = bound(session, namespace, "bare", pods[name], "NVSHMEM_HCA_LIST", None)
        expect(f"{namespace} without a table", process.variables(PREFIXES), {**FOLDER, **constants, **before[name]})
        expect(f"{namespace} without a table: ucx.conf", process.file("/nccl-env/ucx.conf"), lines)


def bound(session, namespace, name, template, variable, wanted):
    """A pod whose Binding was answered by a webhook that has seen the table change."""
    _, process = session.pod_that(f"a pod of {namespace} has {variable}={wanted}", manifest(namespace, name, template),
                                  lambda _, process: process.variables(PREFIXES).get(variable) == wanted)
    return process


def run(session):
    session.load_image(IMAGE, files={"/bin/vllm": SERVES, "/bin/python3": SERVES, "/bin/bash": b'#!/bin/sh\nexec sh "$@"\n'})
    pods = dict(templates(PAIRS))
    expect("the files' pods", sorted(pods), sorted(LEFT))
    before = plain(session, pods)
    with session.without_agent():
        given = Given(session)
        by_env_file(session, pods, before, given)
        by_file(session, pods, before, given)
        without_table(session, pods, before)
    session.clear("engines", "engines-plain", "engines-file", "engines-bare")
