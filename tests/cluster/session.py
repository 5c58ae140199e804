# SPDX-License-Identifier: Apache-2.0
"""What a command in the cluster asks of it: objects by the API, and processes of pods as this machine's kernel sees them,
without a program in the container."""
import contextlib
import itertools
import json
import os
import pathlib
import signal
import subprocess

from api import Api, Refused
from image import BUSYBOX_IMAGE, write_image
from node import NAME
from objects import SPACES, expect  # noqa: F401
from process import Failed, eventually

SOURCE = pathlib.Path(__file__).resolve().parents[2]
HCAS = [f"mlx5_{number}" for number in range(4)]
RESOLVER = "nccl-env-resolve"
TASKS = "*/containerd-state/io.containerd.runtime.v2.task/k8s.io"  # of a node, below the cluster's folder
# Ends on SIGTERM, which a first process without a handler would not see.
WAIT = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1 & wait; done"]


class Process:
    """The first process of a running container."""

    def __init__(self, pid):
        self.pid, self.place = pid, pathlib.Path("/proc", str(pid))

    def command_line(self):
        try:
            return (self.place / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return b""

    def variables(self, prefixes="NCCL_"):
        """NCCL's variables, or those with one of these prefixes, as the process was started with them."""
        # The kernel shows none while the process replaces its program, and before that runc's own.
        def own():
            text = (self.place / "environ").read_text()
            return "" if "_LIBCONTAINER_" in text else text
        pairs = eventually("its environment", own, limit=10).split("\0")
        return dict(pair.split("=", 1) for pair in pairs if pair.startswith(prefixes))

    def file(self, path):
        """The lines of a file of variables as this process finds it; None without one."""
        try:
            text = (self.place / "root" / path.lstrip("/")).read_text()
        except FileNotFoundError:
            return None
        return dict(line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#"))

    def conf(self):
        return self.file("/etc/nccl.conf")

    def has(self):
        """What NCCL finds: the environment, even an empty one, beats the file."""
        lines = {name: value for name, value in (self.conf() or {}).items() if name.startswith("NCCL_")}
        return lines | self.variables()

    def group(self, controller):
        """The folder of its control group: of this controller, or of cgroup 2."""
        for line in (self.place / "cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controller in controllers.split(","):
                return pathlib.Path("/sys/fs/cgroup", controller, path.lstrip("/"))
            if not controllers and pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists():
                return pathlib.Path("/sys/fs/cgroup", path.lstrip("/"))
        raise Failed(f"process {self.pid} has no control group for {controller}")


class Session:
    def __init__(self):
        self.state = pathlib.Path(os.environ["NCCL_ENV_CLUSTER"])
        pki = self.state / "pki"
        self.api = Api(443, pki / "ca.crt", (pki / "admin.crt", pki / "admin.key"))
        self.sys = self.state / "sys"

    def command(self, *words, code=0, stdin=None):
        """The output of kubectl, nccl-env or another program; Failed if it ends otherwise than with `code`."""
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, input=stdin, check=False)
        if done.returncode != code:
            raise Failed(f"{' '.join(map(str, words))}: exit {done.returncode}: {done.stdout[-2000:]}{done.stderr}")
        return done.stdout

    def shell(self, commands):
        """Runs a page's commands as it says, in the checkout."""
        return self.command("bash", "-euo", "pipefail", "-c", f"cd {SOURCE}; {commands}")

    def kubectl(self, *words, **more):
        return self.command("kubectl", *words, **more)

    def ctr(self, *words):
        return self.command("ctr", "-a", self.state / NAME / "containerd.sock", "-n", "k8s.io", *words)

    def load_image(self, name, **content):
        archive = self.state / "image.tar"
        write_image(archive, name, **content)
        self.ctr("images", "import", archive)

    def opt_in(self, namespace, exposure="Host", **spec):
        """A namespace with a policy of its own, once pods there get values."""
        self.api.apply({"apiVersion": "nccl-env.io/v1alpha1", "kind": "NcclPolicy", "metadata": {"name": namespace},
                        "spec": {"match": {"resources": [{"name": "rdma/hca", "exposure": exposure}]}, "hca": "FromNode",
                                 "gidIndex": "Pin", "env": {"NCCL_IB_TIMEOUT": "22"}, **spec}})
        self.join(namespace, namespace)

    def join(self, namespace, policy, labels=()):
        """A namespace under this policy, once pods there get values."""
        self.api.apply({"apiVersion": "v1", "kind": "Namespace",
                        "metadata": {"name": namespace, "labels": {"nccl-env.io/policy": policy, **dict(labels)}}})
        eventually(f"pods may be made in {namespace}", lambda: self.may_create(namespace))
        eventually(f"pods of {namespace} get values", lambda: self.is_injected(pod(namespace, "probe")))

    def plain(self, namespace):
        """A namespace without us, once pods may be made there."""
        self.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        eventually(f"pods may be made in {namespace}", lambda: self.may_create(namespace))

    def may_create(self, namespace):
        """A namespace has its service account a moment later."""
        try:
            return self.api.create(pod(namespace, "probe"), "?dryRun=All")
        except Refused as refused:
            if refused.code in (403, 404):
                return None
            raise

    def is_injected(self, manifest):
        made = self.api.create(manifest, "?dryRun=All")
        return "nccl-env.io/status" in made["metadata"].get("annotations", {})

    def run(self, manifest):
        """Creates the pod; its running process."""
        self.api.create(manifest)
        return self.running(manifest["metadata"]["namespace"], manifest["metadata"]["name"],
                            manifest["spec"]["containers"][0]["name"])

    def pod_that(self, what, manifest, fits):
        """Name and process of the first of `manifest`'s pods that `fits`: programs learn of a change a moment later."""
        numbers = itertools.count()

        def look():
            name = f"{manifest['metadata']['name']}-{next(numbers)}"
            process = self.run({**manifest, "metadata": {**manifest["metadata"], "name": name}})
            return (name, process) if fits(name, process) else None
        return eventually(what, look, limit=60)

    def running(self, namespace, name, container="main", after=None):
        """The container's process, once it runs; with `after`, another than this."""
        def look():
            found = self.api.get("Pod", namespace, name)
            for status in statuses(found):
                if status["name"] == container and "running" in status.get("state", {}):
                    process = self.process_of(status["containerID"])
                    return process if process and (after is None or process.pid != after.pid) else None
            return None
        try:
            return eventually(f"{container} of {namespace}/{name} runs", look, limit=90)
        except Failed as failed:
            told = self.kubectl("-n", namespace, "get", "events", "--field-selector", f"involvedObject.name={name}")
            raise Failed(f"{failed}\n{told}") from failed

    def resolver(self, namespace, name):
        """The status of a pod's init container of ours, {} before it has one."""
        found = [one for one in statuses(self.api.get("Pod", namespace, name)) if one["name"] == RESOLVER]
        return found[0] if found else {}

    def tasks(self):
        """The ids of all containers that run, on any node."""
        return {path.name for path in self.state.glob(f"{TASKS}/*")}

    def process_of(self, container_id):
        for path in self.state.glob(f"{TASKS}/{container_id.split('//')[1]}/init.pid"):
            try:
                return Process(int(path.read_text()))
            except (FileNotFoundError, ValueError):
                pass
        return None

    def pods_of(self, program):
        """Those of ours that are not on their way out."""
        found = self.api.list("Pod", SPACES[program], f"?labelSelector=app.kubernetes.io%2Fname%3Dnccl-env-{program}")
        return [some for some in found if "deletionTimestamp" not in some["metadata"]]

    def ours(self, program):
        """Name and process of each pod of ours that is ready."""
        return {some["metadata"]["name"]: self.process_of(statuses(some)[0]["containerID"])
                for some in self.pods_of(program) if is_ready(some)}

    def rolled_out(self, *workloads):
        for workload in workloads:
            self.kubectl("-n", SPACES[workload.split("-")[-1]], "rollout", "status", "--timeout=120s", workload)

    def endpoints(self):
        """Addresses at which the API server may find the webhook."""
        slices = self.api.request("GET", "/apis/discovery.k8s.io/v1/namespaces/nccl-env/endpointslices")["items"]
        return {address for some in slices for endpoint in some["endpoints"] or [] if endpoint["conditions"]["ready"]
                for address in endpoint["addresses"]}

    def metric(self, metric, **labels):
        """The sum of the API server's samples of this metric and these labels."""
        wanted = [f'{key}="{value}"' for key, value in labels.items()]
        return sum(float(line.split()[-1]) for line in self.kubectl("get", "--raw", "/metrics").splitlines()
                   if line.startswith(f"{metric}{{") and all(part in line for part in wanted))

    def explained(self, namespace, name, code=0, more=()):
        return json.loads(self.command("nccl-env", "explain", f"pod/{name}", "-n", namespace, "-o", "json", *more, code=code))

    def clear(self, *namespaces):
        for namespace in namespaces:
            self.api.delete("Namespace", None, namespace)

    def ports_of(self):
        """HCA and state of each port in the node's table, {} without one."""
        try:
            observed = self.api.get("NodeFabric", None, NAME)["observed"]
        except Refused:
            return {}
        return {port["hca"]: port["state"] for port in observed["ports"]}

    @contextlib.contextmanager
    def without_agent(self):
        """Tables stay as they are; behind it the agent makes its own anew."""
        def place(agents):
            self.api.merge("DaemonSet", SPACES["agent"], "nccl-env-agent",
                           {"spec": {"template": {"spec": {"nodeSelector": {"no-node": agents}}}}})
        place("has-it")
        try:
            eventually("the agent is gone", lambda: not self.api.list("Pod", SPACES["agent"]))
            yield
        finally:
            self.kubectl("delete", "nodefabric", NAME, "--ignore-not-found")
            place(None)
            eventually("the table is back", lambda: list(self.ports_of()) == HCAS)

    def set_state(self, hca, state):
        """What the recorded /sys says of this port."""
        path, = self.sys.glob(f"devices/*/*/infiniband/{hca}/ports/1/state")
        path.write_text(state + "\n")

    def kill(self, process):
        os.kill(process.pid, signal.SIGKILL)


def statuses(some):
    status = some.get("status", {})
    return [one for kind in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
            for one in status.get(kind, [])]


def is_ready(some):
    return any(one["type"] == "Ready" and one["status"] == "True" for one in some["status"].get("conditions", []))


def pod(namespace, name, image=BUSYBOX_IMAGE, host_network=True, spec=None, **container):
    """A pod with one RDMA device that waits, and may lock memory: the runtime's own limit is a finding without that."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
            "spec": {"hostNetwork": host_network, "terminationGracePeriodSeconds": 1, **(spec or {}), "containers": [
                {"name": "main", "image": image, "command": WAIT, "resources": {"limits": {"rdma/hca": "1"}},
                 "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}, **container}]}}
