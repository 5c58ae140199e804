# SPDX-License-Identifier: Apache-2.0
"""Devices and interfaces that engines take of variables of their own: ours, none, and NCCL's copied."""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

import containers
import devices
import world
from process import SECONDS, fresh

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from ports import free_port  # noqa: E402

TORCH = os.environ.get("READERS_TORCH", "/usr/bin/python3").split()
LONGEST = 199  # bytes of a line of ucx.conf

# Two ranks of PyTorch that send each other something, by Gloo or TensorPipe; each prints its own addresses.
PAIR = """
import os, socket, sys
import torch, torch.distributed as dist, torch.distributed.rpc as rpc
kind, rank = sys.argv[1], int(sys.argv[2])
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[3])
if kind == "gloo":
    dist.init_process_group("gloo", rank=rank, world_size=2)
    sent = torch.ones(1000) * (rank + 1)
    dist.all_reduce(sent)
    assert sent[0] == 3
else:
    options = rpc.TensorPipeRpcBackendOptions(_transports=["uv"], _channels=["basic"])
    rpc.init_rpc(f"rank{rank}", rank=rank, world_size=2, rpc_backend_options=options)
    assert rank or rpc.rpc_sync("rank1", torch.add, args=(torch.ones(2), 3))[0] == 4
own = {os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.islink(f"/proc/self/fd/{fd}")}
for line in open("/proc/self/net/tcp").readlines()[1:]:
    part = line.split()
    if part[3] == "01" and f"socket:[{part[9]}]" in own and sys.argv[3] != str(int(part[2][9:], 16)):
        print("address", socket.inet_ntoa(bytes.fromhex(part[1][:8])[::-1]), flush=True)
(dist.barrier if kind == "gloo" else rpc.shutdown)()
"""


class Taken:
    def __init__(self, code, rows, log=""):
        self.code, self.rows, self.log = code, rows, log


class Torch:
    """PyTorch for CPUs, if this Python has it: READERS_TORCH, else Debian's."""

    def __init__(self, kind):
        self.kind = kind
        self.addresses = {"127.0.0.1": "lo", "10.1.1.2": "eth0", "10.2.2.2": "eth1"}  # run.py lays them out

    @staticmethod
    def is_here():
        return subprocess.run([*TORCH, "-c", "import torch"], capture_output=True, check=False).returncode == 0

    def ask(self, env):
        port = str(free_port())
        ranks = [subprocess.Popen([*TORCH, "-c", PAIR, self.kind, str(rank), port], env={**fresh(), **env}, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for rank in (0, 1)]
        logs = [rank.communicate(timeout=3 * SECONDS)[0] for rank in ranks]
        if any(rank.returncode for rank in ranks):
            return Taken(1, {}, logs[0])
        return Taken(0, {self.addresses[address]: 0 for address in sorted(set(re.findall("^address (.*)$", logs[0], re.M)))})


@contextlib.contextmanager
def interfaces_in_sys():
    """UCX looks there for names; the made-up /sys has those of the rails alone."""
    links = [pathlib.Path("/sys/class/net", name) for name in ("lo", "eth0", "eth1")]
    for link in links:
        link.symlink_to("/dev/null")
    try:
        yield
    finally:
        for link in links:
            link.unlink()


class Ucx:
    """UCX's parser: names that it knows of and does not find, interfaces that it takes, and two numbers where it has its
    part for verbs, which the wheel has not. `folder`: of the wheel."""

    def __init__(self, folder=None):
        self.program, self.libraries = "ucx_info", {}
        if folder:
            program, = pathlib.Path(folder).rglob("ucx_info")
            program.chmod(0o755)
            self.program, self.libraries = str(program), {"LD_LIBRARY_PATH": str(program.parents[1] / "lib")}

    def ask(self, env):
        with tempfile.TemporaryDirectory() as folder:
            env = {**fresh(), "HOME": folder, **env}
            if "ucx.conf" in env:
                with open(f"{folder}/ucx.conf", "w", encoding="ascii") as file:
                    file.write(env.pop("ucx.conf"))
                env["UCX_CONFIG_DIR"] = folder
                env["HOME"] = "/"
            with interfaces_in_sys():
                used = self.run(env, "-p", "-u", "t")
            told = self.run(env, "-c").stdout
        missing = re.search(r"network devices? (.*) (?:is|are) not available", used.stdout)
        interfaces = re.findall(r"tcp/(\S+)$", used.stdout, re.M)
        numbers = dict(re.findall(r"^UCX_RC_VERBS_(TRAFFIC_CLASS|SL)=(.*)$", told, re.M))
        failed = "no usable transports" in used.stdout
        names = re.findall("'([^']*)'", missing[1]) if missing else []
        return Taken(1 if failed else 0, {"missing": names, "interfaces": sorted(interfaces), **numbers}, used.stdout)

    def run(self, env, *options):
        return subprocess.run([self.program, *options], env={**env, **self.libraries}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=SECONDS)


@dataclass
class Question:
    """`rows`: what is predicted; device -> GID row, interface -> 0, what Ucx says; None: it fails."""
    reader: str
    what: str
    node: str
    env: dict
    rows: dict | None = field(default_factory=dict)


def rows_of(node, *names):
    """Each device with the row that a search finds."""
    return {name: devices.device_of(node, name).row for name in names}


def fabric(node):
    return rows_of(node, *devices.fabric_of(node))


def everything(node):
    return rows_of(node, *(device.name for some in devices.NODES[node] for device in some))


def joined(node, port=""):
    return ",".join(name + port for name in devices.fabric_of(node))


def ours(node, interface="eth1"):
    """Our values on the node, by a policy with a traffic class and a service level, where this is its own interface."""
    given = {"UCX_NET_DEVICES": f"{joined(node, ':1')},{interface}", "UCX_IB_TRAFFIC_CLASS": "96", "UCX_IB_SL": "3",
             "NVSHMEM_HCA_LIST": joined(node, ":1"), "NVSHMEM_IB_TRAFFIC_CLASS": "96", "NVSHMEM_IB_SL": "3",
             "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME": f"={interface}", "GLOO_SOCKET_IFNAME": interface,
             "TP_SOCKET_IFNAME": interface}
    return given | ({"NVSHMEM_HCA_PREFIX": "roce_"} if node == "renamed" else {})


def only(prefix, node):
    """Ours for one engine, without the interface of NVSHMEM's start, which is no question about devices."""
    return {name: value for name, value in ours(node).items()
            if name.startswith(prefix) and not name.startswith("NVSHMEM_BOOTSTRAP")}


def of_nvshmem():
    listed, copied = only("NVSHMEM_", "rails"), {"NVSHMEM_HCA_LIST": "=" + joined("rails")}
    three, eight = "NVSHMEM 3.2.5", "NVSHMEM 3.8.0"
    mapped, searched = {"NVSHMEM_ENABLE_NIC_PE_MAPPING": "1"}, {"NVSHMEM_IB_GID_INDEX": "-1"}
    left = {name: row for name, row in fabric("rails").items() if name != "mlx5_0"}
    yield Question(three, "none", "rails", {}, everything("rails"))
    yield Question(three, "ours", "rails", listed, fabric("rails"))
    yield Question(three, "ours and a search", "rails", {**listed, **searched}, fabric("rails"))
    yield Question(three, "copied", "rails", copied, left)
    yield Question(three, "of another node", "rails", {"NVSHMEM_HCA_LIST": "mlx5_7:1"}, None)
    yield Question(three, "ours", "renamed", only("NVSHMEM_", "renamed"), fabric("renamed"))
    yield Question(eight, "ours", "rails", listed, everything("rails"))  # needs the mapping, which we never set
    yield Question(eight, "ours and a search", "rails", {**listed, **searched}, everything("rails"))  # no mapping either
    yield Question(eight, "ours and the mapping", "rails", {**listed, **mapped}, fabric("rails"))
    yield Question(eight, "copied with the mapping", "rails", {**copied, **mapped}, left)
    yield Question(eight, "none", "renamed", {}, everything("renamed"))
    yield Question(eight, "ours", "renamed", only("NVSHMEM_", "renamed"), fabric("renamed"))


def conf(names):
    return {"ucx.conf": f"UCX_NET_DEVICES={','.join(names)}\n"}


def of_ucx(name, has_verbs):
    def rows(missing, interfaces, tc="auto", sl="auto"):
        return {"missing": list(missing), "interfaces": list(interfaces)} | (
            {"TRAFFIC_CLASS": tc, "SL": sl} if has_verbs else {})

    def question(what, env, predicted):
        return Question(name, what, "rails", env, predicted)
    ports, everywhere = [f"{device}:1" for device in devices.fabric_of("rails")], ["eth0", "eth1", "lo"]
    written = {"ucx.conf": "".join(f"{key}={value}\n" for key, value in only("UCX_", "rails").items())}
    yield question("none", {}, rows([], everywhere))
    yield question("ours", written, rows(ports, ["eth1"], "96", "3"))
    yield question("ours, no annotation", {"ucx.conf": ""}, rows([], everywhere))
    yield question("copied", {"UCX_NET_DEVICES": "=mlx5_0,mlx5_1"}, rows(["=mlx5_0", "mlx5_1"], []))
    yield question("user's beside ours", {**written, "UCX_NET_DEVICES": "eth0"}, rows([], ["eth0"], "96", "3"))
    yield question("ports alone beside tcp", {**conf(ports), "UCX_TLS": "tcp"}, None)
    long = [f"mlx5_{number}:1" for number in range(1, 18)] + ["eth0"]
    long.insert(0, "m" * (LONGEST - len(f"UCX_NET_DEVICES=,{','.join(long)}")))
    yield question("a line as long as can be", conf(long), rows(long[:-1], ["eth0"]))
    long[0] += "m"
    yield question("one byte more", conf(long), rows([*long[:-1], "eth"], []))


def of_torch():
    for name, value, gloo, tensorpipe in (
            ("none", None, {"eth0": 0}, {"eth0": 0}), ("ours", "eth1", {"eth1": 0}, {"eth1": 0}),
            ("copied", "=eth1", None, {"lo": 0}), ("NCCL's prefix", "eth", None, {"lo": 0}),
            ("NCCL's ^", "^lo", None, {"lo": 0}), ("two", "eth0,eth1", {"eth0": 0, "eth1": 0}, {"lo": 0}),
            ("empty", "", {"eth0": 0}, {"lo": 0}), ("of another node", "ens9", None, {"lo": 0})):
        env = {} if value is None else {"GLOO_SOCKET_IFNAME": value}
        yield Question("Gloo of PyTorch 1.13.1", name, "rails", env, gloo)
        env = {} if value is None else {"TP_SOCKET_IFNAME": value}
        yield Question("TensorPipe of PyTorch 1.13.1", name, "rails", env, tensorpipe)


GIVEN = ("rails", "renamed", "uneven")
POLICY = """{"apiVersion": "nccl-env.io/v1alpha1", "kind": "NcclPolicy", "metadata": {"name": "engines"}, "spec": {
"match": {"resources": [{"name": "rdma/hca"}]}, "socketInterface": "FromNode", "gidIndex": "Pin",
"env": {"NCCL_IB_TC": "96", "NCCL_IB_SL": "3"}}}"""


def given_wrongly(program, tree, folder):
    """Sentences: values of `nccl-env env` that are not those about which the questions are."""
    policy, told = folder / "engines.yaml", []
    policy.write_text(POLICY)
    for node in GIVEN:
        tree.show(node)
        world.lay_out({"eth1": ["10.2.2.2/24"]} | {f"rail{device.number}": [f"25.11.{device.number}.2/24"]
                                                   for some in devices.NODES[node] for device in some})
        done = subprocess.run([program, "env", "--engines", "UCX,NVSHMEM,Gloo", "--ignore-environment", "--address",
                               "10.2.2.2", "--policy", policy, "-o", "json"], capture_output=True, text=True, check=False)
        values = json.loads(done.stdout)["env"] if done.stdout else {}
        given = {name: value for name, value in values.items() if not name.startswith("NCCL_")}
        if given != ours(node):
            told.append(f"nccl-env env on {node}: {done.stdout or done.stderr}, and not {ours(node)}")
    return told


def of_engines(process):
    """Values that a container's process has for engines other than NCCL: its variables, and the lines of ucx.conf where
    UCX is told of it."""
    text = process.files.get("/nccl-env/ucx.conf", "") if process.env.get("UCX_CONFIG_DIR") == "/nccl-env" else ""
    lines = dict(line.split("=", 1) for line in text.splitlines())
    return {name: value for name, value in {**lines, **process.env}.items()
            if not name.startswith("NCCL_") and name != "UCX_CONFIG_DIR"}


def delivered_wrongly(cluster):
    """Sentences: where a container's process has other values than ours, by the real webhook and init container."""
    rails = ours("rails", "eth0")
    constants = {name: value for name, value in rails.items() if value in ("96", "3")}
    literals = {name: value for name, value in constants.items() if not name.startswith("UCX_")}
    well = containers.State("rails", policy="engines")

    def less(*names, **more):
        return {name: value for name, value in rails.items() if name not in names} | more
    expected = [
        *(("EnvFile", containers.State(node, policy="engines"), {}, ours(node, "eth0")) for node in GIVEN),
        ("EnvFile", containers.State("rails", policy="engines", table="none"), {}, constants),
        ("EnvFile", containers.State("rails", policy="engines", bound=False), {}, literals),
        ("File", well, {}, {**constants, "UCX_NET_DEVICES": rails["UCX_NET_DEVICES"]}),
        ("EnvFile", well, {"GLOO_SOCKET_IFNAME": "eth1"}, less(GLOO_SOCKET_IFNAME="eth1")),
        ("EnvFile", well, {"UCX_CONFIG_DIR": "/mine"}, less(*(name for name in rails if name.startswith("UCX_")))),
    ]
    told = []
    for carrier, state, env, values in expected:
        found = of_engines(cluster.started(carrier, state, tuple(env.items())))
        if found != values:
            told.append(f"{carrier} | {state} | {env}: {found}, and not {values}")
    return told


def questions():
    return [*of_nvshmem(), *of_ucx("UCX", True), *of_ucx("UCX 1.22.0", False), *of_torch()]


def wrong(ask):
    """Sentences: what an engine takes other than predicted. `ask(reader, node, env)`."""
    told = []
    for question in questions():
        taken = ask(question.reader, question.node, question.env)
        if taken.code is not None and (taken.rows if taken.code == 0 else None) != question.rows:
            told.append(f"{question.reader}, {question.what}, {question.env} on {question.node}: takes {taken.rows} "
                        f"({taken.code}), predicted was {question.rows}")
    return told
