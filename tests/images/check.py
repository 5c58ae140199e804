#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Both images of scripts/image: what is in them, that they run as the manifests let them, and that a second build
gives the same digests. Needs root, for their roots and users.

  check.py DIRECTORY SPDX_CHECKER"""
import os
import pathlib
import subprocess
import sys
import tempfile

import contents
import running
from contents import SOURCE

sys.path.insert(0, str(SOURCE / "images"))
import sbom  # noqa: E402
from archive import Archive  # noqa: E402
from report import MOST_BYTES  # noqa: E402


def check_again(directory):
    """Another build, by one whose new files are for themselves alone."""
    before = (directory / "digests").read_text()
    mask = os.umask(0o077)
    try:
        done = subprocess.run([SOURCE / "scripts/image"], capture_output=True, text=True, check=False)
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
        for image, run in (("webhook", running.check_webhook), ("agent", running.check_agent)):
            archive = Archive(directory / f"nccl-env-{image}.oci.tar")
            checks = [contents.check_config(image, archive, version), contents.check_files(image, archive),
                      contents.check_spdx(image, archive, checker), run(archive, scratch, version)]
            found += [f"nccl-env-{image}: {problem}" for check in checks for problem in check]
            if image == "webhook" and archive.unpacked > MOST_BYTES:
                found.append(f"nccl-env-webhook has {archive.unpacked} bytes")
    found += check_again(directory)
    for problem in found:
        print(problem)
    print(f"images: {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
