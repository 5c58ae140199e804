# SPDX-License-Identifier: Apache-2.0
"""What a container's process finds, environment and files, without us and with us: the webhook answers for pods and
Bindings, the agent reads the devices and is the init container, and what a kubelet does is scripts/demo_cluster.py."""
import json
import os
import pathlib
import subprocess
import sys
import time
from dataclasses import dataclass, field

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from demo_cluster import Webhook, bind, lines_of, resolve_env, volume_text  # noqa: E402  # pylint: disable=wrong-import-position

import devices

CARRIERS = ("File", "EnvFile")
# Once, all that a node gives was a reference; later -1 stood for an index that NCCL finds itself (facts of issue 33).
ONCE = ("references", "references, -1")
OF_NODE = ("NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_SOCKET_IFNAME", "NCCL_IB_TIMEOUT")
CONF = "/etc/nccl.conf"

# What of a policy differs, beside its delivery.
POLICIES = {
    "all": {},
    "nothing": {"fabric": {"hcas": ["nothing_*"]}},
    "newer": {"nccl": {"minVersion": "2.23.4"}, "gidIndex": "Auto"},
    "look": {},
    "engines": {"engines": ["NCCL", "UCX", "NVSHMEM", "Gloo"], "env": {"NCCL_IB_TC": "96", "NCCL_IB_SL": "3"}},
}


@dataclass(frozen=True)
class State:
    """The devices of a node, the table that the webhook has, whether it answered for the Binding, and what then is given:
    a list (L), an index (I)."""
    devices: str
    gives: str = ""
    policy: str = "all"
    table: str = "own"  # none, stale
    bound: bool = True


STATES = {
    "values": State("rails", "LI"),
    "values, one port": State("one", "LI"),
    "values, beside a longer name": State("prefix", "LI"),
    "values, no common index": State("uneven", "L"),
    "values, InfiniBand": State("infiniband", "L"),
    "values, minVersion 2.23.4": State("rails", "L", "newer"),
    "values that the pod finds": State("rails", "LI", "look"),
    "nothing of the fabric": State("rails", policy="nothing"),
    "no table": State("rails", table="none"),
    "no table, minVersion 2.23.4": State("rails", policy="newer", table="none"),
    "stale table": State("rails", table="stale"),
    "ambiguous": State("two-fabrics"),
    "webhook absent at the Binding": State("rails", bound=False),
}


@dataclass(frozen=True)
class Image:
    """What image and user bring: an image's ENV and nccl.conf, and the env of the pod."""
    env: tuple = ()
    conf: str = ""
    pod: tuple = ()


@dataclass
class Process:
    """The environment of a container's process, and the files that it finds, by path."""
    env: dict
    files: dict = field(default_factory=dict)


def policy(name, carrier, kind):
    exposure = "PodOwned" if kind == "look" else "Host"
    return {"apiVersion": "nccl-env.io/v1alpha1", "kind": "NcclPolicy", "metadata": {"name": name}, "spec": {
        "match": {"resources": [{"name": "rdma/hca", "exposure": exposure}]}, "socketInterface": "FromNode",
        "hca": "FromNode", "gidIndex": "Pin", "delivery": [carrier], **POLICIES[kind],
        "variants": [{"when": {"nodeLabels": {"kind": "a*"}}, "env": {"NCCL_IB_TIMEOUT": "22"}}]}}


def namespace_of(carrier, kind):
    return f"{carrier}-{kind}".lower()


def fill_store(store, agent, roots):
    """Policies, namespaces, and a table of each node as the agent reads it from the made-up /sys; with a stale twin."""
    store.mkdir()
    documents = []
    for carrier in CARRIERS:
        for kind in POLICIES:
            name = namespace_of(carrier, kind)
            documents.append(policy(name, carrier, kind))
            documents.append({"apiVersion": "v1", "kind": "Namespace",
                              "metadata": {"name": name, "labels": {"nccl-env.io/policy": name}}})
    for node, root in roots.items():
        shown = subprocess.run([agent, "show", "--sysfs", root, "--node-name", node, "-o", "json"], check=True,
                               stdout=subprocess.PIPE)
        table = json.loads(shown.stdout)
        table["observed"]["nodeInterface"] = "eth0"
        stale = json.loads(json.dumps(table))
        stale["metadata"]["name"] += "-stale"
        stale["observed"]["time"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 86400))
        documents += [table, stale]
    for number, document in enumerate(documents):
        (store / f"{number}.yaml").write_text(json.dumps(document))


def review(kind, name_space, obj, **more):
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
        "uid": "", "kind": {"group": "", "version": "v1", "kind": kind}, "operation": "CREATE", "dryRun": False,
        "resource": {"group": "", "version": "v1", "resource": "pods"}, "name": "train", "namespace": name_space,
        "object": obj, **more}}


class Cluster:
    def __init__(self, webhook, agent, folder, roots):
        self.webhook = webhook
        self.agent = agent
        self.folder = folder
        self.roots = roots
        self.answers = {}

    def admitted(self, carrier, state, pod_env):
        """The pod as the kubelet gets it."""
        name_space = namespace_of(carrier, state.policy)
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train", "namespace": name_space}, "spec": {
            "hostNetwork": state.policy != "look", "containers": [{
                "name": "c", "image": "example.com/train:1", "resources": {"limits": {"rdma/hca": "1"}},
                "env": [{"name": name, "value": value} for name, value in pod_env]}]}}
        _, _, pod = self.webhook.admit(review("Pod", name_space, pod))
        if not state.bound:
            return pod
        node = {"own": "", "none": "-unknown", "stale": "-stale"}[state.table]
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "train", "namespace": name_space},
                   "target": {"kind": "Node", "name": state.devices + node}}
        _, _, binding = self.webhook.admit(review("Binding", name_space, binding, subResource="binding"))
        return bind(pod, binding)

    def resolve(self, pod, state):
        """Runs the init container; returns what it wrote, by the name in its volume."""
        some, = pod["spec"]["initContainers"]
        mounts = {mount["mountPath"]: mount["name"] for mount in some["volumeMounts"]}
        out = self.folder / "written"
        out.mkdir(exist_ok=True)
        for path in out.iterdir():
            path.unlink()
        arguments = [argument if not any(argument.startswith(place) for place in mounts) else
                     str(out) if argument in mounts else str(out / pathlib.Path(argument).name) for argument in some["args"]]
        if "--given" not in arguments:
            arguments += ["--sysfs", self.roots[state.devices]]
        ended = subprocess.run([self.agent, *arguments, "--termination-log", "/dev/null"], check=False,
                               capture_output=True, text=True, env={**os.environ, **resolve_env(pod, some)})
        if ended.returncode:
            raise SystemExit(f"readers: the init container ends with {ended.returncode}: {ended.stderr}")
        return {path.name: path.read_text() for path in out.iterdir()}

    def with_us(self, carrier, state_name, image):
        """The process; what an image brings does not reach the webhook, so its answer is asked for once."""
        key = (carrier, state_name, image.pod)
        if key not in self.answers:
            self.answers[key] = (self.once(carrier, state_name, image.pod) if carrier in ONCE else
                                 self.started(carrier, STATES[state_name], image.pod))
        ours = self.answers[key]
        own = {CONF: image.conf} if image.conf else {}
        return Process({**dict(image.env), **ours.env}, {**own, **ours.files})

    def started(self, carrier, state, pod_env):
        pod = self.admitted(carrier, state, pod_env)
        container = pod["spec"]["containers"][0]
        written = self.resolve(pod, state) if pod["spec"].get("initContainers") else {}
        keys = [entry["valueFrom"]["fileKeyRef"]["path"] for entry in container["env"]
                if "fileKeyRef" in entry.get("valueFrom", {})]
        lines = {}
        for line in written.get(pathlib.Path(keys[0]).name, "").splitlines() if keys else ():
            name, value = line.split("=", 1)
            lines[name] = value.strip("'")
        files = {}
        for mount in container.get("volumeMounts", []):
            volume, = (some for some in pod["spec"]["volumes"] if some["name"] == mount["name"])
            if "subPath" in mount:
                files[mount["mountPath"]] = volume_text(pod, volume, mount["subPath"], written)
        return Process(resolve_env(pod, container, lines), files)

    def once(self, carrier, state_name, pod_env):
        """The values of File as references: empty where there is none, the list with its =."""
        by_file = self.with_us("File", state_name, Image())
        lines = {name: value for text in by_file.files.values() for name, value in lines_of(text).items()}
        own = dict(pod_env)
        env = {name: value for name, value in by_file.env.items() if name != "NCCL_CONF_FILE"}
        absent = {"NCCL_IB_GID_INDEX": "-1"} if carrier == ONCE[1] and STATES[state_name].bound else {}
        return Process({**env, **own, **{name: own.get(name, lines.get(name, absent.get(name, "")))
                                          for name in OF_NODE}})


def contradictions(processes):
    """Where a process is not what its state says, or has an empty variable by a carrier that gives none."""
    told = []
    for (carrier, state, image), process in processes.items():
        if not carrier.endswith("File"):
            continue
        lines = {name: value for text in process.files.values() for name, value in lines_of(text).items()}
        empty = [name for name, value in process.env.items() if name.startswith("NCCL_") and not value]
        if empty:
            told.append(f"{carrier} | {state} | {image}: empty: {' '.join(empty)}")
        if image == "plain":
            found = {**lines, **process.env}
            gives = ("L" if "NCCL_IB_HCA" in found else "") + ("I" if "NCCL_IB_GID_INDEX" in found else "")
            if gives != STATES[state].gives:
                told.append(f"{carrier} | {state}: gives {gives or 'nothing'}")
    return told


def without_us(image):
    return Process({**dict(image.env), **dict(image.pod)}, {CONF: image.conf} if image.conf else {})
