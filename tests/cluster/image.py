# SPDX-License-Identifier: Apache-2.0
"""An image with busybox alone, as sandbox and for pods that only show what they have."""
import hashlib
import io
import json
import pathlib
import tarfile

from node import PAUSE
from process import Failed

BUSYBOX = pathlib.Path("/bin/busybox")
APPLETS = ("sh", "sleep", "cat", "env", "tr", "ls", "true", "touch", "kill", "grep", "test", "mkdir")


def add(archive, name, data=b"", mode=0o644, link="", folder=False):
    member = tarfile.TarInfo(name)
    member.mode, member.size, member.linkname = mode, len(data), link
    member.type = tarfile.SYMTYPE if link else tarfile.DIRTYPE if folder else tarfile.REGTYPE
    archive.addfile(member, io.BytesIO(data))


def layer():
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for folder in ("bin", "etc", "proc", "sys", "dev", "tmp"):
            add(archive, folder, mode=0o1777 if folder == "tmp" else 0o755, folder=True)
        add(archive, "bin/busybox", BUSYBOX.read_bytes(), mode=0o755)
        for applet in APPLETS:
            add(archive, f"bin/{applet}", mode=0o777, link="busybox")
    return content.getvalue()


def write_busybox(path, name=PAUSE, env=(), files=()):
    """A Docker archive of the image: its ENV, and more files of it by name and text."""
    if not BUSYBOX.exists():
        raise Failed("there is no /bin/busybox: install busybox-static")
    content = layer()
    if files:
        more = io.BytesIO(content)
        with tarfile.open(fileobj=more, mode="a") as archive:
            for file, text in files:
                add(archive, file, text.encode())
        content = more.getvalue()
    config = json.dumps({
        "architecture": "amd64", "os": "linux",
        "config": {"Entrypoint": ["/bin/sleep", "2147483647"], "Env": ["PATH=/bin", *env]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(content).hexdigest()}"]}}).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    with tarfile.open(path, "w") as archive:
        for file, data in (("layer.tar", content), ("config.json", config), ("manifest.json", manifest)):
            add(archive, file, data)
