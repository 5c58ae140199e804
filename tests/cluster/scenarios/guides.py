# SPDX-License-Identifier: Apache-2.0
"""Jobs as clouds' guides have them (tests/data/workloads) under the shipped policies, on nodes with published listings: each
variable of a container's first process, of one that is exec'd, and of a rank that sshd starts.

This machine has no RDMA devices that an init container could look at: namespaces have nccl-env.io/resolve=Binding."""
import copy
import json
import pathlib
import re
import shlex

import yaml
from image import libraries
from node import NAME as NODE
from objects import ours
from process import Failed, eventually
from scenarios.engines import SERVES, manifest, started, templates
from session import SOURCE, expect

NAME = "guides: five public jobs under shipped policies, each variable of their processes"
IMAGE = "nccl-env.test/job:1"
FINDS = ("sh", "-c", "cat /etc/nccl.conf 2>/dev/null; env")  # what stands later counts
SSHD = b"#!/bin/sh\nexec /bin/dropbear -F -E -r /etc/dropbear/key -p 22\n"  # whatever its options
RAILS = "=" + ",".join(f"mlx5_{number}" for number in range(1, 9))
# By story: what the container's environment has, and its nccl.conf.
BAIDU = {"NCCL_SOCKET_IFNAME": "eth0", "NCCL_IB_TIMEOUT": "22", "NCCL_IB_QPS_PER_CONNECTION": "8"}
BAIDU_USER = {"NCCL_DEBUG": "INFO", "NCCL_IB_DISABLE": "0"}
ERDMA = {"NCCL_SOCKET_IFNAME": "eth0", "NCCL_NET_GDR_LEVEL": "1", "NCCL_P2P_LEVEL": "5"}
ERDMA_USER = {"NCCL_DEBUG": "INFO", "NCCL_ALGO": "Ring"}
ACTIVE = {"NCCL_IB_HCA": "=rocep26s0"}


def load_image(session):
    """Programs that the jobs start and that wait, and sshd; the key of one who may log in."""
    key, server = session.state / "ssh.key", session.state / "sshd.key"
    said = [session.command("dropbearkey", "-t", "ed25519", "-f", path) for path in (key, server)]
    public = next(line for line in said[0].splitlines() if line.startswith("ssh-"))
    session.load_image(IMAGE, files={
        "/bin/python": SERVES, "/bin/torchrun": SERVES, "/bin/mpirun": SERVES, "/usr/sbin/sshd": SSHD,
        "/bin/dropbear": pathlib.Path("/usr/sbin/dropbear").read_bytes(), **libraries("/usr/sbin/dropbear"),
        "/etc/passwd": b"root:x:0:0:root:/root:/bin/sh\n", "/etc/dropbear/key": server.read_bytes(),
        "/root/.ssh/authorized_keys": public.encode()})
    return key


def jobs():
    """Templates by job and role, less what a machine of this size and without Volcano cannot run."""
    for name, template in templates(SOURCE / "tests/data/workloads"):
        template["spec"].pop("schedulerName", None)
        for container in template["spec"]["containers"]:
            container["image"] = IMAGE
            limits = container.get("resources", {}).get("limits", {})
            limits.pop("cpu", None), limits.pop("memory", None)
        kind, job, *_, role = name.split("-")
        yield f"{kind}-{job}-{role}", template


def bring(session, listing):
    """The node of this listing, in the agent's place."""
    session.kubectl("delete", "nodefabric", NODE, "--ignore-not-found")
    session.kubectl("apply", "-f", "-", stdin=session.command(
        "nccl-env", "table", "import", "--node", NODE, "--node-interface", "eth0", SOURCE / "tests/data/tables" / listing))


def join(session, namespace, name, **changed):
    """A namespace under a shipped policy, or under a copy of it with something changed."""
    made = yaml.safe_load((SOURCE / f"policies/{name}.yaml").read_text())
    if changed:
        made["metadata"]["name"], made["spec"] = namespace, {**made["spec"], **changed}
    session.api.apply(made)
    # Under Omit a pod has nothing to look for, and EnvFile wants an init container.
    labels = {} if made["spec"]["gidIndex"] == "Omit" else {"nccl-env.io/resolve": "Binding"}
    session.join(namespace, made["metadata"]["name"], labels)


def nccl_lines(text):
    return dict(line.split("=", 1) for line in text.splitlines() if line.startswith("NCCL_"))


def in_env(constants, host):
    """The interface of the node's network is the node's matter, and stands in the file alone."""
    return {name: value for name, value in constants.items() if not host or name != "NCCL_SOCKET_IFNAME"}


def compare(session, namespace, name, process, env, lines):
    """The first process, and one beside it that only the container's spec and files reach; RCCL's file is NCCL's."""
    what = f"{namespace}/{name}"
    expect(f"{what}: the first process's environment", process.variables(), env)
    expect(f"{what}: its nccl.conf", process.conf(), lines)
    expect(f"{what}: its rccl.conf", process.file("/etc/rccl.conf"), lines)
    said = session.kubectl("-n", namespace, "exec", name, "--", *FINDS)
    expect(f"{what}: an exec'd process's file and environment", nccl_lines(said), {**(lines or {}), **env})


def baidu(session, pods, _):
    """As the guide has it a pod has its own rows, and no index of the node's; on the node's network the index is pinned, since
    the guide's images are older than NCCL's own search."""
    join(session, "baidu", "baidu-roce")
    join(session, "baidu-newer", "baidu-roce", gidIndex="Auto")
    own = {name: template for name, template in pods.items() if name.startswith("baidu-")}
    host = {f"{name}-host": copy.deepcopy(template) for name, template in own.items()}
    for template in host.values():
        template["spec"]["hostNetwork"] = True
    listed, pinned = {**BAIDU, "NCCL_IB_HCA": RAILS}, {"NCCL_IB_GID_INDEX": "3"}
    newer = manifest("baidu-newer", "newer", host["baidu-pytorchjob-master-host"])
    name, process = session.pod_that("the webhook knows the node", newer, lambda _, process: "NCCL_IB_HCA" in process.has())
    compare(session, "baidu-newer", name, process, {**BAIDU_USER, **in_env(BAIDU, True)}, listed)
    for name, process in started(session, "baidu", {**own, **host}).items():
        env = {**BAIDU_USER, **in_env(BAIDU, name in host)}
        compare(session, "baidu", name, process, env, listed | pinned if name in host else listed)


def topology(session, pods, key):
    """Ranks that mpirun starts by ssh have the workers' file, and what mpirun's -x says beside it; the launcher has nothing."""
    join(session, "topology", "generic-rdma")
    launcher, worker = (pods[f"topology-mpijob-{role}"] for role in ("launcher", "worker"))
    workers = {f"worker-{number}": worker for number in range(4)}
    running = started(session, "topology", {"launcher": launcher, **workers})
    compare(session, "topology", "launcher", running["launcher"], {}, None)
    options = " ".join(re.findall(r"-x (NCCL_\w+=\S+)", launcher["spec"]["containers"][0]["command"][-1]))
    listed, told = {"NCCL_IB_HCA": RAILS}, {"NCCL_DEBUG": "INFO", "NCCL_SOCKET_IFNAME": "eth0"}
    for name in workers:
        compare(session, "topology", name, running[name], {}, listed)
        address = session.api.get("Pod", "topology", name)["status"]["podIP"]
        said = eventually("sshd answers", lambda: ssh(session, key, address, f"env {options} {shlex.join(FINDS)}"))
        expect(f"topology/{name}: a rank's file and environment", nccl_lines(said), {**listed, **told})


def ssh(session, key, address, command):
    try:
        return session.command("dbclient", "-y", "-y", "-i", key, f"root@{address}", command)
    except Failed as refused:
        if "onnection refused" in str(refused):
            return None
        raise


def eni(session, pods, _):
    """No RDMA: the pod's spec and its process are those of a namespace without us. A Binding does not know its pod: it writes
    its texts, which this pod does not mount."""
    join(session, "eni", "generic-rdma")
    session.plain("eni-plain")
    own = {name: template for name, template in pods.items() if name.startswith("eni-")}
    made = {namespace: started(session, namespace, own) for namespace in ("eni", "eni-plain")}
    for name in own:
        found = [session.api.get("Pod", namespace, name) for namespace in made]
        given, plain = (re.sub("kube-api-access-[a-z0-9]+", "token", json.dumps([
            some["spec"], some["metadata"].get("labels"), {key: text for key, text in some["metadata"]["annotations"].items()
                                                           if key not in ours(some) or key.endswith("/status")}]))
                        for some in found)
        expect(f"{name} as bytes", given, plain)
        given, plain = (sorted(made[namespace][name].place.joinpath("environ").read_text().split("\0")) for namespace in made)
        expect(f"{name}: all of its process's environment", given, plain)
        compare(session, "eni", name, made["eni"][name], {}, None)


def observe(session, **fields):
    """Sets fields of the ports of the node's table, in their order."""
    ports = session.api.get("NodeFabric", None, NODE)["observed"]["ports"]
    for name, values in fields.items():
        for port, value in zip(ports, values):
            port[name] = value
    session.api.merge("NodeFabric", None, NODE, {"observed": {"ports": ports}})


def erdma(session, pods, _):
    """The two NICs need different indices, 2 and 1: though the node's rows are known no carrier has one, and the policy that
    would pin one shows it."""
    observe(session, gidRows=[["2 RoCEv2 10.0.0.2 dev eth0"], ["1 RoCEv2 10.0.0.3 dev eth1"]])
    join(session, "erdma", "alibaba-erdma")
    join(session, "erdma-env", "alibaba-erdma", delivery=["EnvFile"])
    join(session, "erdma-pin", "alibaba-erdma", gidIndex="Pin")
    own = {name: template for name, template in pods.items() if name.startswith("erdma-pytorchjob-")}
    name, process = session.pod_that("the webhook knows the node", manifest("erdma-pin", "pin", pods["erdma-tfjob-ps"]),
                                     lambda _, process: "NCCL_IB_GID_INDEX" in process.has())
    compare(session, "erdma-pin", name, process, in_env(ERDMA, True), {**ERDMA, **ACTIVE, "NCCL_IB_GID_INDEX": "1"})
    for name, process in started(session, "erdma", own).items():
        compare(session, "erdma", name, process, {**ERDMA_USER, **ERDMA}, {**ERDMA, **ACTIVE})
        written = session.api.get("Pod", "erdma", name)["metadata"]["annotations"]
        texts = [key for key, text in written.items() if key.endswith("nccl.conf") and "GID_INDEX" in text]
        expect(f"{name}: texts with an index", texts, [])
    for name, env in (("erdma-pytorchjob-master", {**ERDMA_USER, **ERDMA}), ("erdma-tfjob-ps", {**ERDMA})):
        name, process = session.pod_that("a pod by EnvFile", manifest("erdma-env", name, pods[name]),
                                         lambda _, process: process.conf() is None)
        compare(session, "erdma-env", name, process, {**env, "NCCL_IB_HCA": "rocep26s0"}, None)


def tfjob(session, pods, _):
    """Of the node's two HCAs the one whose port is active, for servers without a GPU, too; both once both are."""
    own = {name: template for name, template in pods.items() if name.startswith("erdma-tfjob-")}
    for name, process in started(session, "erdma", own).items():
        compare(session, "erdma", name, process, in_env(ERDMA, True), {**ERDMA, **ACTIVE})
    observe(session, state=["Active", "Active"])
    name, process = session.pod_that("the webhook knows that both are", manifest("erdma", "both", own["erdma-tfjob-ps"]),
                                     lambda _, process: not ACTIVE.items() <= process.has().items())
    compare(session, "erdma", name, process, in_env(ERDMA, True), {**ERDMA, "NCCL_IB_HCA": "=rocep26s0,rocep156s0"})


STORIES = {"baidu-roce-a100.show_gids.txt": (baidu, topology, eni), "alibaba-erdma.ibv_devinfo.txt": (erdma, tfjob)}


def run(session):
    key, pods = load_image(session), dict(jobs())
    with session.without_agent():
        for listing, stories in STORIES.items():
            bring(session, listing)
            for story in stories:
                story(session, pods, key)
    session.clear("baidu", "baidu-newer", "topology", "eni", "eni-plain", "erdma", "erdma-env", "erdma-pin")
    return "five stories"
