# SPDX-License-Identifier: Apache-2.0
"""On the host: what the webhook and the command line make of a table that the guest's agent has published. The answers
of the webhook are those of `nccl-env inject`, with the table as it was written and a policy."""
import datetime
import json
import subprocess
import tempfile
import pathlib

import compare

GROUP = "nccl-env.io"
NODE = "lab"


def policy(spec):
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": "NcclPolicy", "metadata": {"name": "lab"},
            "spec": {"match": {"resources": [{"name": "rdma/hca", "exposure": "Host"}]}, "gidIndex": "Pin", **spec}}


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def later(time, **duration):
    return (time + datetime.timedelta(**duration)).strftime("%Y-%m-%dT%H:%M:%SZ")


def table_after(run, name):
    """The text of the table that stood when the next action began."""
    begins = [action["begin"] for action in run["actions"]]
    names = [action["name"] for action in run["actions"]]
    end = ([*begins, float("inf")])[names.index(name) + 1]
    return [write["text"] for write in run["writes"] if write["time"] < end][-1]


def as_hardware(table):
    """With another driver's name: inference and doctor pass over soft devices."""
    return table.replace("driver: rxe", "driver: mlx5_core").replace('"driver": "rxe"', '"driver": "mlx5_core"')


def ports(table):
    return {port["hca"]: port for port in compare.parsed(table)["ports"]}


class Decision:
    """`table`: a manifest; `at`: the moment, as a text."""

    def __init__(self, programs, spec, table, at):
        self.program, self.at = programs / "nccl-env", at
        self.folder = tempfile.TemporaryDirectory(prefix="nccl-env-lab-store-")
        self.path = pathlib.Path(self.folder.name)
        self.write("policy.yaml", policy(spec))
        self.write("table.yaml", table)

    def write(self, name, value):
        file = self.path / name
        file.write_text(value if isinstance(value, str) else json.dumps(value))
        return file

    def ask(self, *arguments):
        """The program's output; exit 1 is a finding."""
        done = subprocess.run([self.program, *arguments, "--at", self.at], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode not in (0, 1) or not done.stdout:
            raise RuntimeError(f"{arguments}: exit {done.returncode}: {done.stderr}")
        return done.stdout

    def pod(self, **env):
        """A pod of the host's network, as it runs on the node: admitted, bound, annotated. `env`: its own variables."""
        file = self.write("manifest.json.txt", {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train", "namespace": "ml"},
            "spec": {"hostNetwork": True, "containers": [
                {"name": "c", "image": "i", "resources": {"limits": {"rdma/hca": "1"}}, **(
                    {"env": [{"name": name, "value": value} for name, value in env.items()]} if env else {})}]}})
        pod = json.loads(self.ask("inject", "-f", file, "--policy", self.path / "policy.yaml", "--table",
                                  self.path / "table.yaml", "--node", NODE, "-o", "json"))
        pod["spec"]["nodeName"] = NODE
        pod["status"] = {"phase": "Running"}
        return pod

    def explain(self, pod):
        file = self.write("pod.json.txt", pod)
        return json.loads(self.ask("explain", "--policy", self.path / "policy.yaml", "--table",
                                   self.path / "table.yaml", "-f", file, "-o", "json"))

    def explained(self, pod):
        """variable -> reason and sentence, of those that `explain` says the node does not give."""
        answer = self.explain(pod)
        return {left["name"]: f"{left['reason']}: {left['detail']}" for left in answer["containers"][0]["omitted"]}


def values(pod):
    """variable -> value, of those that NCCL reads in the container and that are not empty."""
    annotations = pod["metadata"]["annotations"]
    file = [volume["downwardAPI"]["items"][0]["fieldRef"]["fieldPath"].split("'")[1]
            for volume in pod["spec"].get("volumes", []) if volume["name"] == "nccl-env-conf"]
    lines = dict(line.split("=", 1) for key in file for line in annotations.get(key, "").splitlines()
                 if not line.startswith("#"))
    read = lines | {entry["name"]: annotations.get(entry["valueFrom"]["fieldRef"]["fieldPath"].split("'")[1], "")
            if "valueFrom" in entry else entry["value"] for entry in pod["spec"]["containers"][0].get("env", [])}
    return {name: value for name, value in read.items() if value}


def reasons(pod):
    """variable -> reason, by the node's annotation."""
    return json.loads(pod["metadata"]["annotations"][f"{GROUP}/node"]).get("omitted", {}).get("host", {})
