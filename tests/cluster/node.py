# SPDX-License-Identifier: Apache-2.0
"""A control plane and one node with kubelet, containerd and runc, in a network namespace that has nothing else. Images are
imported: nothing can be pulled, so the API server has no AlwaysPullImages."""
import json
import os
import pathlib
import shutil
import subprocess

from image import BUSYBOX_IMAGE
from pki import Pki
from process import Failed, Process, eventually

NAME, ADDRESS, SERVICE = "gpu-1", "10.99.0.1", "10.96.0.1"
CAP_SYS_RESOURCE = 24  # linux/capability.h


def command(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


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


def make_groups(name):
    """A control group of our own for the node's pods, in each hierarchy of cgroup 1 or in that of cgroup 2."""
    root = pathlib.Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        there = (root / "cgroup.controllers").read_text().split()
        wanted = [f"+{controller}" for controller in ("cpu", "cpuset", "memory", "pids", "hugetlb") if controller in there]
        try:
            (root / "cgroup.subtree_control").write_text(" ".join(wanted))
        except OSError as error:
            raise Failed(f"{root}/cgroup.subtree_control does not take {' '.join(wanted)} ({error.strerror}): a container "
                         "may share its machine's control groups only if it is privileged") from error
        hierarchies = [root]
    else:
        hierarchies = [path for path in root.iterdir() if path.is_dir() and not path.is_symlink()]
    for hierarchy in hierarchies:
        (hierarchy / name).mkdir()


class Node:
    def __init__(self, binaries, state):
        self.binaries, self.state, self.parts = binaries, state, []
        for folder in ("log", "cni"):
            (state / folder).mkdir()
        self.pki = Pki(state / "pki")

    def start(self):
        self.make_network()
        make_groups(self.state.name)
        server = self.pki.issue("apiserver", "kube-apiserver", addresses=(
            f"IP:{SERVICE}", f"IP:{ADDRESS}", "IP:127.0.0.1", "DNS:kubernetes.default.svc"))
        admin = self.pki.issue("admin", "admin", "system:masters")
        self.kubeconfig = self.write_kubeconfig("admin", admin)
        self.start_apiserver(server, admin)
        self.start_controllers()
        self.start_containerd()
        self.start_kubelet()
        self.version = json.loads(self.kubectl("get", "--raw", "/version"))["gitVersion"]
        eventually("the node is ready", self.is_ready)

    def make_network(self):
        """The Service "kubernetes" on loopback, since there is no kube-proxy; the rails, and the interface of the node."""
        for words in ("link set lo up", f"addr add {SERVICE}/32 dev lo"):
            command("ip", *words.split())
        rails = {f"rail{number}": f"25.11.128.{number + 2}/24" for number in range(4)}
        for name, address in {**rails, "ext0": f"{ADDRESS}/24"}.items():
            for words in (f"link add {name} type veth peer name {name}-peer", f"addr add {address} dev {name}",
                          f"link set {name} up", f"link set {name}-peer up"):
                command("ip", *words.split())
        command("ip", "route", "add", "default", "via", "10.99.0.254", "dev", "ext0")
        pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")

    def run_part(self, name, *arguments, program=None):
        if name == os.environ.get("CLUSTER_GATE_OFF"):  # as a release has it that is older than the gate
            arguments += ("--feature-gates=EnvFiles=false",)
        part = Process(name, [program or self.binaries / name, *arguments], self.state / "log" / name,
                       env={**os.environ, "GOGC": "200"}, start_new_session=True)  # Ctrl-C is for us alone
        self.parts.append(part)
        return part

    def write_kubeconfig(self, name, certificate):
        path = self.state / f"{name}.conf"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "cluster",
            "clusters": [{"name": "cluster", "cluster": {"server": f"https://{ADDRESS}:443",
                                                         "certificate-authority": str(self.pki.ca)}}],
            "users": [{"name": "user", "user": {"client-certificate": str(certificate[0]),
                                                "client-key": str(certificate[1])}}],
            "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": "user"}}]}))
        return path

    def start_apiserver(self, server, admin):
        client, peer = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
        self.run_part("etcd", f"--data-dir={self.state}/etcd", f"--listen-client-urls={client}",
                      f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}",
                      f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}", "--unsafe-no-fsync",
                      "--log-level=warn")
        pki = self.pki
        self.run_part(
            "kube-apiserver", f"--etcd-servers={client}", "--bind-address=0.0.0.0", f"--advertise-address={ADDRESS}",
            "--secure-port=443", f"--tls-cert-file={server[0]}", f"--tls-private-key-file={server[1]}",
            f"--client-ca-file={pki.ca}", "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki.service_account_key}",
            f"--service-account-signing-key-file={pki.service_account_key}",
            "--service-cluster-ip-range=10.96.0.0/16", "--allow-privileged=true",
            # Hooks' Services are reached at their pods' addresses, since there is no kube-proxy. By InternalIP and
            # a certificate for it the kubelet is found without DNS: kubectl logs and exec.
            "--enable-aggregator-routing=true", "--kubelet-preferred-address-types=InternalIP",
            f"--kubelet-certificate-authority={pki.ca}", f"--kubelet-client-certificate={admin[0]}",
            f"--kubelet-client-key={admin[1]}")
        eventually("kube-apiserver is ready", self.api_is_ready)

    def api_is_ready(self):
        for part in self.parts:
            part.expect_alive()
        return self.kubectl("get", "--raw", "/readyz", check=False)[0] == 0

    def start_controllers(self):
        for name, more in {"kube-scheduler": [],
                           "kube-controller-manager": [
                               f"--service-account-private-key-file={self.pki.service_account_key}",
                               f"--root-ca-file={self.pki.ca}", "--use-service-account-credentials"]}.items():
            kubeconfig = self.write_kubeconfig(name, self.pki.issue(name, f"system:{name}"))
            self.run_part(name, f"--kubeconfig={kubeconfig}", f"--authentication-kubeconfig={kubeconfig}",
                          f"--authorization-kubeconfig={kubeconfig}", "--leader-elect=false", *more)

    def start_containerd(self):
        state = self.state
        self.snapshotter = "overlayfs" if takes_overlays(state / "probe") else "native"
        (state / "cni/10.conflist").write_text(json.dumps({"cniVersion": "0.4.0", "name": "net", "plugins": [{
            "type": "bridge", "bridge": "cni0", "isGateway": True, "ipam": {
                "type": "host-local", "dataDir": str(state / "ipam"), "ranges": [[{"subnet": "10.88.0.0/24"}]],
                "routes": [{"dst": "0.0.0.0/0"}]}}]}))
        (state / "containerd.toml").write_text(f'''version = 2
root = "{state}/containerd"
state = "{state}/containerd-state"
[grpc]
  address = "{self.socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{BUSYBOX_IMAGE}"
  restrict_oom_score_adj = {"false" if may_raise_limits() else "true"}
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "{self.snapshotter}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{state}/cni"
''')
        containerd = self.run_part("containerd", "--config", state / "containerd.toml", program="containerd")

        def answers():
            containerd.expect_alive()
            return subprocess.run(["ctr", "-a", self.socket, "version"], capture_output=True, check=False).returncode == 0
        eventually("containerd answers", answers)

    @property
    def socket(self):
        return self.state / "containerd.sock"

    def start_kubelet(self):
        pki = self.pki
        server = pki.issue("kubelet-server", NAME, addresses=(f"IP:{ADDRESS}",))
        kubeconfig = self.write_kubeconfig("kubelet", pki.issue("kubelet", f"system:node:{NAME}", "system:nodes"))
        (self.state / "kubelet.yaml").write_text(json.dumps({
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "readOnlyPort": 0,
            "tlsCertFile": str(server[0]), "tlsPrivateKeyFile": str(server[1]), "authorization": {"mode": "AlwaysAllow"},
            "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False},
                               "x509": {"clientCAFile": str(pki.ca)}},
            "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{self.state.name}", "enforceNodeAllocatable": [], "failCgroupV1": False,
            "failSwapOn": False, "evictionHard": {}, "localStorageCapacityIsolation": False, "resolvConf": "",
            "containerRuntimeEndpoint": f"unix://{self.socket}", "syncFrequency": "2s"}))
        # Its control groups are its own: other nodes of this machine keep theirs. cgroup 1 is taken, too.
        self.run_part("kubelet", "--config", self.state / "kubelet.yaml", f"--kubeconfig={kubeconfig}",
                      f"--hostname-override={NAME}", f"--node-ip={ADDRESS}", "--root-dir", self.state / "kubelet",
                      "--cert-dir", self.state / "kubelet-pki")

    def is_ready(self):
        for part in self.parts:
            part.expect_alive()
        code, said = self.kubectl("get", "node", NAME, "-o", "json", check=False)
        conditions = json.loads(said)["status"].get("conditions", []) if code == 0 else []
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    def load(self, archive):
        command("ctr", "-a", self.socket, "-n", "k8s.io", "images", "import", "--snapshotter", self.snapshotter, archive)

    def kubectl(self, *arguments, check=True, stdin=None):
        """Returns the output; with `check` false, the exit code and the output or the errors."""
        done = subprocess.run([self.binaries / "kubectl", "--kubeconfig", self.kubeconfig, *map(str, arguments)],
                              capture_output=True, text=True, input=stdin, check=False)
        if not check:
            return done.returncode, done.stdout or done.stderr
        if done.returncode:
            raise Failed(f"kubectl {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def stop(self):
        """Containers end with the process namespace; the parts go first, so that they can say why they failed."""
        for part in reversed(self.parts):
            part.end(limit=2)
        with open("/proc/mounts", encoding="utf-8") as mounts:
            below = [line.split()[1] for line in mounts if line.split()[1].startswith(f"{self.state}/")]
        for place in sorted(below, reverse=True):
            subprocess.run(["umount", "--lazy", place], check=False)
