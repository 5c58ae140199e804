# SPDX-License-Identifier: Apache-2.0
"""The images at work, each in its own root, read-only, as its user, without capabilities (container.py)."""
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time

from contents import SOURCE, container

LAUNCHER = pathlib.Path(__file__).with_name("container.py")
POLICY = {"apiVersion": "nccl-env.io/v1alpha1", "kind": "NcclPolicy", "metadata": {"name": "p"},
          "spec": {"match": {"resources": [{"name": "rdma/hca"}]}, "gidIndex": "Pin", "delivery": ["File"],
                   "env": {"NCCL_IB_TIMEOUT": "22"}}}
SECONDS = 120  # after which a program hangs, on however slow a machine


def emulator(architecture):
    """Of programs that this machine's processor does not run: one of scripts/in-root, which needs nothing but itself."""
    native = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()
    if architecture == native:
        return None
    copy = SOURCE / "build/arm64/qemu-aarch64"
    subprocess.run([SOURCE / "scripts/in-root", "arm64", "cp", f"/usr/bin/{copy.name}", copy], check=True)
    return copy


class Image:
    """An image's root on this machine, and its programs as commands."""

    def __init__(self, archive, folder, mounts=()):
        self.root, self.config = folder / "root", archive.config["config"]
        self.root.mkdir(parents=True)
        for layer in archive.members():
            layer.extractall(self.root, numeric_owner=True)
        self.mounts = {str(path): str(path) for path in mounts}
        self.emulated = []
        if program := emulator(archive.config["architecture"]):
            self.emulated = ["/emulator"]
            self.mounts["/emulator"] = str(program)

    def command(self, *arguments, environment=None, program=None):
        defaults = dict(entry.split("=", 1) for entry in self.config["Env"])
        return [sys.executable, LAUNCHER, self.root, self.config["User"], json.dumps(self.mounts),
                json.dumps(defaults | (environment or {})), *self.emulated,
                *([program] if program else self.config["Entrypoint"]), *map(str, arguments)]

    def run(self, *arguments, environment=None):
        return subprocess.run(self.command(*arguments, environment=environment), capture_output=True, text=True,
                              check=False, timeout=SECONDS)

    def resolves(self, file):
        """The loader in the image finds all that `file` needs, there."""
        loader = next(path for path in self.root.rglob("ld-linux-*") if path.is_file())
        done = subprocess.run(self.command("--list", f"/{file}", program=f"/{loader.relative_to(self.root)}"),
                              capture_output=True, text=True, check=False)
        return done.returncode == 0 and "not found" not in done.stdout, done.stdout + done.stderr


def sysfs(folder):
    """An HCA as ConnectX shows it, with the usual four rows of one address."""
    function = folder / "devices/pci0000:50/0000:53:00.0"
    device, port = function / "infiniband/mlx5_1", function / "infiniband/mlx5_1/ports/1"
    files = {device / "node_type": "1: CA", device / "board_id": "MT_0000000223", port / "state": "4: ACTIVE",
             port / "link_layer": "Ethernet", port / "rate": "200 Gb/sec (4X HDR)", function / "net/eth1/dev_port": "0",
             folder / "bus/pci/drivers/mlx5_core/new_id": ""}
    mapped = "0000:0000:0000:0000:0000:ffff:190b:8002"
    for index, gid in enumerate(2 * ["fe80:0000:0000:0000:0000:0000:0000:0001"] + 2 * [mapped]):
        files |= {port / f"gids/{index}": gid, port / f"gid_attrs/ndevs/{index}": "eth1",
                  port / f"gid_attrs/types/{index}": "RoCE v2" if index % 2 else "IB/RoCE v1"}
    links = {folder / "class/infiniband/mlx5_1": device, folder / "class/net/eth1": function / "net/eth1",
             device / "device": function, function / "driver": folder / "bus/pci/drivers/mlx5_core"}
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    for path, target in links.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(os.path.relpath(target, path.parent))


def expect(what, done, code, *parts):
    """Parts of what a program said, and its exit code."""
    missing = [part for part in parts if part not in done.stdout + done.stderr]
    if done.returncode != code or missing:
        yield f"{what}: exit code {done.returncode} instead of {code}, without {missing}: {done.stdout}{done.stderr}"


def check_loading(image):
    for path in sorted(image.root.rglob("*")):
        name = path.relative_to(image.root)
        if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF" and "ld-linux" not in path.name:
            found, said = image.resolves(name)
            if not found:
                yield f"{name}: {said}"


def check_manifest(name, image):
    """The manifest's arguments are understood; here there is no cluster, so that is as far as it gets."""
    ours = container(name)[0]
    arguments = ours["args"]
    for entry in ours.get("env", []):  # as the kubelet expands them
        arguments = [argument.replace(f"$({entry['name']})", entry.get("value", "gpu-1")) for argument in arguments]
    yield from expect("the manifest's arguments", image.run(*arguments), 1, '"msg":"could not start"', "--kubeconfig")


def check_webhook(archive, scratch, version):
    """The whole of `make demo`, every answer compared, with the image as its webhook."""
    shared, programs = scratch / "shared", scratch / "bin"
    shared.mkdir()
    programs.mkdir()
    image = Image(archive, scratch / "webhook", [shared])
    yield from expect("--version", image.run("--version"), 0, version)
    yield from check_loading(image)
    yield from check_manifest("webhook", image)
    store = shared / "store"
    store.mkdir(mode=0o755)
    yield from expect("a read-only root", image.run("--store", f"dir:{store}", "--self-signed", "/pki", "--listen",
                                                    "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"), 1, "Read-only")
    for name in ("nccl-env", "nccl-env-agent"):
        (programs / name).symlink_to(SOURCE / "build/release/bin" / name)
    launcher = programs / "nccl-env-webhook"  # what the demo makes for itself is root's alone
    launcher.write_text(f"#!/bin/sh\nchmod -R a+rwX {shared}\nexec {shlex.join(map(str, image.command()))} \"$@\"\n")
    launcher.chmod(0o755)
    done = subprocess.run([SOURCE / "scripts/demo", "--bin", programs], capture_output=True, text=True, check=False,
                          env=os.environ | {"TMPDIR": str(shared)})
    yield from expect("make demo", done, 0)


def check_agent(archive, scratch, version):
    shared = scratch / "pod"
    shared.mkdir()
    sysfs(shared / "sys")
    (shared / "conf").mkdir()
    subprocess.run(["chmod", "-R", "a+rwX", shared], check=True)
    image = Image(archive, scratch / "agent", [shared])
    yield from expect("--version", image.run("--version"), 0, version)
    yield from check_loading(image)
    yield from check_manifest("agent", image)
    yield from expect("show", image.run("show", "--sysfs", shared / "sys"), 0, "mlx5_1 port 1: fabric",
                      "NCCL_IB_GID_INDEX  3")
    here = image.run("show")  # of this machine, through libibverbs, too; there may be devices
    if here.returncode not in (0, 3):
        yield from expect("show, of this machine", here, 3)

    conf = shared / "conf/nccl.conf"
    yield from expect("resolve", image.run("resolve", "--strict", "--sysfs", shared / "sys", "--out", conf,
                                           environment={"NCCL_ENV_POLICY": json.dumps(POLICY)}), 0)
    wanted = "NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1\nNCCL_IB_TIMEOUT=22\n"
    if not conf.exists() or conf.read_text() != wanted or conf.stat().st_uid != 65532:
        yield f"resolve wrote {conf.read_text() if conf.exists() else 'nothing'}"
    yield from check_run(image, shared)


def check_cli(archive, scratch, version):
    """What README begins with, from a folder that is mounted; and a cluster that it asks without kubectl."""
    work = scratch / "work"
    shutil.copytree(SOURCE / "policies", work / "policies")
    for name in ("tables/baidu-roce-a100.show_gids.txt", "docs/rank.yaml"):
        shutil.copy(SOURCE / "tests/data" / name, work)
    subprocess.run(["chmod", "-R", "a+rX", work], check=True)
    image = Image(archive, scratch / "cli", [work])
    yield from expect("--version", image.run("--version"), 0, version)
    yield from check_loading(image)
    table = image.run("table", "import", "--node", "gpu-1", "--node-interface", "eth0",
                      work / "baidu-roce-a100.show_gids.txt")
    yield from expect("table import", table, 0, "mlx5_8")
    (work / "gpu-1.yaml").write_text(table.stdout)
    yield from expect("explain", image.run("explain", "--policy", work / "policies/baidu-roce.yaml", "--table",
                                           work / "gpu-1.yaml", "-f", work / "rank.yaml"), 0, "8 HCAs, GID index 3")
    (work / "kubeconfig").write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": "https://127.0.0.1:1"}}]}))
    yield from expect("doctor", image.run("doctor", environment={"KUBECONFIG": str(work / "kubeconfig")}), 4, "127.0.0.1:1")


def check_run(image, shared):
    """run publishes a table, and ends when it is told to."""
    arguments = ["run", "--node-name", "gpu-1", "--store", f"dir:{shared}/conf", "--sysfs", f"{shared}/sys",
                 "--ops-listen", "127.0.0.1:0"]
    table, end = shared / "conf/gpu-1.yaml", time.monotonic() + SECONDS
    with subprocess.Popen(image.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as process:
        while not table.exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        process.terminate()
        try:
            output = process.communicate(timeout=SECONDS)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            output = "it does not end. " + process.communicate()[0]
    if process.returncode != 0 or not table.exists() or "mlx5_1" not in table.read_text():
        yield f"run: exit code {process.returncode}: {output}"
