# SPDX-License-Identifier: Apache-2.0
"""Images of busybox and files of this machine, as sandbox and for pods that show what they have."""
import hashlib
import io
import json
import pathlib
import re
import shutil
import subprocess
import tarfile

from process import Failed

BUSYBOX_IMAGE = "nccl-env.test/busybox:1"
APPLETS = ("sh", "sleep", "cat", "env", "tr", "ls", "true", "touch", "kill", "grep", "test", "mkdir")


def add(archive, name, data=b"", mode=0o644, link="", folder=False):
    member = tarfile.TarInfo(name)
    member.mode, member.size, member.linkname = mode, len(data), link
    member.type = tarfile.SYMTYPE if link else tarfile.DIRTYPE if folder else tarfile.REGTYPE
    archive.addfile(member, io.BytesIO(data))


def layer(files):
    busybox = shutil.which("busybox")
    if not busybox:
        raise Failed("there is no busybox: scripts/install-deps --cluster")
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for folder in ("bin", "etc", "proc", "sys", "dev", "tmp"):
            add(archive, folder, mode=0o1777 if folder == "tmp" else 0o755, folder=True)
        add(archive, "bin/busybox", pathlib.Path(busybox).read_bytes(), mode=0o755)
        for applet in APPLETS:
            add(archive, f"bin/{applet}", mode=0o777, link="busybox")
        for name, data in files.items():
            add(archive, name.lstrip("/"), data, mode=0o755)
    return content.getvalue()


def libraries(*programs):
    """What these programs of this machine are linked with, by path, as `files` of an image."""
    found = set()
    for program in programs:
        said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        found |= set(re.findall(r"(/\S+) \(0x", said))
    return {path: pathlib.Path(path).read_bytes() for path in found}


def write_image(path, name, env=(), files=None):
    """An archive as `docker save` writes it; `env`: the image's own, `files`: more of them, by name and bytes."""
    content = layer(files or {})
    config = json.dumps({
        "architecture": "amd64", "os": "linux",
        "config": {"Entrypoint": ["/bin/sleep", "2147483647"], "Env": ["PATH=/bin", *env]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(content).hexdigest()}"]}}).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    with tarfile.open(path, "w") as archive:
        for file, data in (("layer.tar", content), ("config.json", config), ("manifest.json", manifest)):
            add(archive, file, data)
