#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The images of scripts/image: what is in them, that they run as the manifests let them (under QEMU if they are for
another architecture), and that a second build gives the same digests. Needs root, for their roots and users.

  check.py DIRECTORY SPDX_CHECKER"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import contents
import running
from contents import SOURCE

sys.path.insert(0, str(SOURCE / "images"))
import sbom  # noqa: E402
from archive import Archive  # noqa: E402
from report import MOST_BYTES  # noqa: E402


def check_again(directory, architectures):
    """Another build, by one whose new files are for themselves alone."""
    before = (directory / "digests").read_text()
    mask = os.umask(0o077)
    try:
        done = subprocess.run([SOURCE / "scripts/image"], capture_output=True, text=True, check=False,
                              env=os.environ | {"ARCH": " ".join(architectures)})
    finally:
        os.umask(mask)
    after = (directory / "digests").read_text()
    if done.returncode or before != after:
        yield f"a second build gives other digests: {before}{after}{done.stderr}"


def check_docs(version):
    text = (SOURCE / "docs/operate/install.md").read_text()
    for image in ("webhook", "agent"):
        if f"newName: registry.example/nccl-env-{image}, newTag: {version}}}" not in text:
            yield f"docs/operate/install.md does not name nccl-env-{image} {version}"


def main():
    if os.geteuid():
        sys.exit("tests/images/check.py enters the images' roots, which takes root")
    directory, checker = pathlib.Path(sys.argv[1]), sys.argv[2]
    version = subprocess.run([SOURCE / "scripts/version"], capture_output=True, text=True, check=True).stdout.strip()
    found = [*check_docs(version), *contents.check_licences(sbom.licence)]
    with tempfile.TemporaryDirectory(prefix="nccl-env-images.") as scratch:
        scratch = pathlib.Path(scratch)
        scratch.chmod(0o755)
        for image, run in (("webhook", running.check_webhook), ("agent", running.check_agent), ("cli", running.check_cli)):
            archive = Archive(directory / f"nccl-env-{image}.oci.tar")
            for architecture, one in archive.images.items():
                begin = time.monotonic()
                (scratch / architecture).mkdir(exist_ok=True)
                checks = [contents.check_config(image, one, version), contents.check_files(image, one),
                          contents.check_spdx(image, one, checker), run(one, scratch / architecture, version)]
                found += [f"nccl-env-{image}, {architecture}: {problem}" for check in checks for problem in check]
                if image == "webhook" and one.unpacked > MOST_BYTES:
                    found.append(f"nccl-env-webhook, {architecture}, has {one.unpacked} bytes")
                print(f"nccl-env-{image}, {architecture}: looked at for {time.monotonic() - begin:.0f} s")
    found += check_again(directory, archive.images)
    for problem in found:
        print(problem)
    print(f"images: {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
