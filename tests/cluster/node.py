# SPDX-License-Identifier: Apache-2.0
"""Nodes with kubelet, containerd and runc. The first shares the control plane's network namespace; each other has its own,
and a link to it."""
import json
import os
import pathlib
import shutil
import signal
import subprocess

from image import BUSYBOX_IMAGE
from parts import ADDRESS, Parts, command
from process import Failed, eventually

NAME, OTHER = "gpu-1", "gpu-2"
CAP_SYS_RESOURCE = 24  # linux/capability.h


def may_raise_limits():
    """Without it no container may be spared when memory ends, and runc fails where it is asked for that."""
    status = pathlib.Path("/proc/self/status").read_text()
    return bool(int(status.split("CapEff:")[1].split()[0], 16) >> CAP_SYS_RESOURCE & 1)


def takes_overlays(folder):
    """Not where `folder` is on an overlay itself, as in many containers."""
    parts = [folder / part for part in ("lower", "upper", "work", "merged")]
    for part in parts:
        part.mkdir(parents=True)
    lower, upper, work, merged = parts
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    done = subprocess.run(["mount", "-t", "overlay", "-o", options, "overlay", merged], capture_output=True, check=False)
    if done.returncode == 0:
        command("umount", merged)
    shutil.rmtree(folder)
    return done.returncode == 0


def hierarchies():
    """Folders with control groups: of each hierarchy of cgroup 1, or that of cgroup 2."""
    root = pathlib.Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        return [root]
    return [path for path in root.iterdir() if path.is_dir() and not path.is_symlink()]


def make_groups(name):
    """A control group of our own for a node's pods."""
    for hierarchy in hierarchies():
        if (hierarchy / "cgroup.controllers").exists() and hierarchy.name == "cgroup":
            there = (hierarchy / "cgroup.controllers").read_text().split()
            wanted = [f"+{controller}" for controller in ("cpu", "cpuset", "memory", "pids", "hugetlb") if controller in there]
            try:
                (hierarchy / "cgroup.subtree_control").write_text(" ".join(wanted))
            except OSError as error:
                raise Failed(f"{hierarchy}/cgroup.subtree_control does not take {' '.join(wanted)} ({error.strerror}): a "
                             "container may share its machine's control groups only if it is privileged") from error
        (hierarchy / name).mkdir(exist_ok=True)


class Node(Parts):
    """`number`: 1 for the first."""

    def __init__(self, binaries, state, number=1):
        super().__init__(binaries, state)
        self.number, self.name = number, NAME if number == 1 else OTHER
        self.address = ADDRESS if number == 1 else f"10.99.{number}.2"
        self.folder, self.group = self.state / self.name, f"{self.state.name}-{number}"
        self.folder.mkdir()
        self.enter = ()

    @property
    def disk(self):
        """The files of pods are on a small disk of their own, which a scenario fills."""
        return self.folder / "kubelet/pods"

    @property
    def socket(self):
        return self.folder / "containerd.sock"

    def start(self, archives):
        """`archives`: images that are there before a pod asks for them."""
        make_groups(self.group)
        if self.number > 1:
            self.make_network()
        self.disk.mkdir(parents=True)
        # Else the kubelet would lay its folder over itself, and hide the disk.
        command("mount", "--bind", self.disk.parent, self.disk.parent)
        command("mount", "--make-rshared", self.disk.parent)
        command("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", self.disk)
        self.start_containerd()
        for archive in archives:
            self.load(archive)
        self.start_kubelet()

    def make_network(self):
        """A namespace of its own, and a link to the first node's over which pods of both reach each other."""
        there = self.run_part(f"{self.name}-network", "--net", "sleep", "infinity", program="unshare")
        place = f"/proc/{there.pid}/ns/net"
        eventually("the node has a namespace", lambda: os.readlink(place) != os.readlink("/proc/self/ns/net"))
        self.enter = ("nsenter", f"--net={place}")
        here, pods = f"10.99.{self.number}.1", f"10.88.{self.number - 1}.0/24"
        for words in (f"link add {self.name} type veth peer name ext0 netns {there.pid}",
                      f"addr add {here}/24 dev {self.name}", f"link set {self.name} up",
                      f"route add {pods} via {self.address}"):
            command("ip", *words.split())
        for words in ("link set lo up", f"addr add {self.address}/24 dev ext0", "link set ext0 up",
                      f"route add default via {here}"):
            command(*self.enter, "ip", *words.split())
        command(*self.enter, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        # The other side has a lasting entry: what is sent to a node without power is lost, and nobody answers for it.
        mac = json.loads(command(*self.enter, "ip", "-j", "link", "show", "ext0"))[0]["address"]
        command("ip", "neigh", "replace", self.address, "lladdr", mac, "nud", "permanent", "dev", self.name)

    def start_containerd(self):
        folder, self.snapshotter = self.folder, "overlayfs" if takes_overlays(self.folder / "probe") else "native"
        (folder / "cni").mkdir(exist_ok=True)
        (folder / "cni/10.conflist").write_text(json.dumps({"cniVersion": "0.4.0", "name": "net", "plugins": [{
            "type": "bridge", "bridge": "cni0", "isGateway": True, "ipam": {
                "type": "host-local", "dataDir": str(folder / "ipam"), "ranges": [[{"subnet": f"10.88.{self.number - 1}.0/24"}]],
                "routes": [{"dst": "0.0.0.0/0"}]}}]}))
        (folder / "containerd.toml").write_text(f'''version = 2
root = "{folder}/containerd"
state = "{folder}/containerd-state"
[grpc]
  address = "{self.socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{BUSYBOX_IMAGE}"
  restrict_oom_score_adj = {"false" if may_raise_limits() else "true"}
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "{self.snapshotter}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{folder}/cni"
''')
        containerd = self.run_part("containerd", "--config", folder / "containerd.toml", program="containerd", enter=self.enter)

        def answers():
            containerd.expect_alive()
            return subprocess.run(["ctr", "-a", self.socket, "version"], capture_output=True, check=False).returncode == 0
        eventually("containerd answers", answers)

    def start_kubelet(self):
        pki, name = self.pki, self.name
        server = pki.issue(f"{name}-server", name, addresses=(f"IP:{self.address}",))
        kubeconfig = self.write_kubeconfig(name, pki.issue(name, f"system:node:{name}", "system:nodes"))
        (self.folder / "kubelet.yaml").write_text(json.dumps({
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "readOnlyPort": 0,
            "tlsCertFile": str(server[0]), "tlsPrivateKeyFile": str(server[1]), "authorization": {"mode": "AlwaysAllow"},
            "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False},
                               "x509": {"clientCAFile": str(pki.ca)}},
            "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{self.group}", "enforceNodeAllocatable": [], "failCgroupV1": False,
            "failSwapOn": False, "evictionHard": {}, "localStorageCapacityIsolation": False, "resolvConf": "",
            "containerRuntimeEndpoint": f"unix://{self.socket}", "syncFrequency": "2s"}))
        # Its control groups are its own: other nodes of this machine keep theirs. cgroup 1 is taken, too.
        self.run_part("kubelet", "--config", self.folder / "kubelet.yaml", f"--kubeconfig={kubeconfig}",
                      f"--hostname-override={name}", f"--node-ip={self.address}", "--root-dir", self.folder / "kubelet",
                      "--cert-dir", self.folder / "kubelet-pki", enter=self.enter)
        eventually(f"{name} is ready", self.is_ready)

    def is_ready(self):
        self.expect_alive()
        code, said = self.kubectl("get", "node", self.name, "-o", "json", check=False)
        conditions = json.loads(said)["status"].get("conditions", []) if code == 0 else []
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    def load(self, archive):
        command("ctr", "-a", self.socket, "-n", "k8s.io", "images", "import", "--snapshotter", self.snapshotter, archive)

    def lose_power(self):
        """Of a node that is not the first: nothing from it or to it arrives any more, and all that ran on it is gone."""
        command(*self.enter, "ip", "link", "set", "ext0", "down")
        network, *programs = self.parts
        for part in programs:
            part.end(signal.SIGKILL)
        self.parts = [network]
        for process in self.processes():
            os.kill(process, signal.SIGKILL)
        eventually("its processes are gone", lambda: not self.processes())
        self.unmount()
        shutil.rmtree(self.folder / "containerd-state")

    def processes(self):
        """Shims, by their socket, and what runs in its control groups; not those that wait for their parent to take note."""
        found = set()
        for place in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                line = (place / "cmdline").read_text()
                if line and (str(self.socket) in line or f"/{self.group}/" in (place / "cgroup").read_text()):
                    found.add(int(place.name))
            except (FileNotFoundError, ProcessLookupError):
                pass
        return found

    def gain_power(self):
        super().stop()
        command("ip", "link", "del", self.name)
        self.make_network()
        self.start_containerd()
        self.start_kubelet()

    def stop(self):
        """Containers end with the process namespace; the parts go first, so that they can say why they failed."""
        super().stop()
        self.unmount()

    def unmount(self):
        """All but the disk of pods' files."""
        with open("/proc/mounts", encoding="utf-8") as mounts:
            places = sorted((line.split()[1] for line in mounts), reverse=True)
        for place in places:
            if place.startswith(f"{self.folder}/") and place not in (str(self.disk), str(self.disk.parent)):
                subprocess.run(["umount", "--lazy", place], check=False)
