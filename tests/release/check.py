#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/release, in a clone with a tag, with images and packages of this checkout: it refuses what is not a release, its
checksums hold, the chart's archive has the chart, and a registry on loopback has the images under the digests that
values.yaml names.

  check.py"""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from registry import Registry  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[2]
VERSION = subprocess.run([SOURCE / "scripts/version"], capture_output=True, text=True, check=True).stdout.strip()
IMAGES = ("webhook", "agent", "cli")


class Clone:
    """This commit, and what `make image deb portable` has built of it."""

    def __init__(self, folder, registry):
        self.path = folder / "clone"
        subprocess.run(["git", "clone", "--quiet", "--shared", SOURCE, self.path], check=True)
        for part in ("image", "deb", "portable"):
            shutil.copytree(SOURCE / "build" / part, self.path / "build" / part)
        plain = folder / ".config/containers/registries.conf"
        plain.parent.mkdir(parents=True)
        plain.write_text(f'[[registry]]\nlocation = "{registry.host}"\ninsecure = true\n')
        self.environment = os.environ | {"REPOSITORY": f"{registry.host}/team", "PUSH": "yes", "HOME": str(folder)}

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=test", "-c", "user.email=test@example.com", *arguments], cwd=self.path,
                       check=True, capture_output=True)

    def release(self, version=VERSION):
        done = subprocess.run(["scripts/release", version], cwd=self.path, env=self.environment, capture_output=True,
                              text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def check_push(clone):
    """scripts/push alone, for whom images of another place, or of none, are none to push."""
    for repository, part in (("", "where to?"), ("other.example", "names another registry")):
        done = subprocess.run(["scripts/push", "build/dist", VERSION], cwd=clone.path, capture_output=True, text=True,
                              env=clone.environment | {"REPOSITORY": repository}, check=False)
        if not done.returncode or part not in done.stderr:
            yield f"push to {repository!r}: {done.returncode}, {done.stderr}"


def check_refusals(clone):
    for what, prepare, version, part in (
            ("no tag", lambda: None, VERSION, f"the tag v{VERSION} is not at this commit"),
            ("another version", lambda: clone.git("tag", f"v{VERSION}"), "9.9.9", "not 9.9.9"),
            ("a change", lambda: (clone.path / "LICENSE").write_text("mine"), VERSION, "not committed"),
            ("another commit", lambda: (clone.git("commit", "-aqm", "x"), clone.git("tag", "-f", f"v{VERSION}")), VERSION,
             "is of commit")):
        prepare()
        code, said = clone.release(version)
        if not code or part not in said:
            yield f"{what}: {code}, {said}"
    clone.git("reset", "-q", "--hard", "HEAD~1")
    clone.git("tag", "-f", f"v{VERSION}")


def check_files(dist):
    sums = dict(reversed(line.split("  ", 1)) for line in (dist / "SHA256SUMS").read_text().splitlines())
    there = {path.name for path in dist.iterdir()} - {"SHA256SUMS"}
    if sums.keys() != there:
        yield f"SHA256SUMS and the files differ by {sums.keys() ^ there}"
    for name in sums.keys() & there:
        if hashlib.sha256((dist / name).read_bytes()).hexdigest() != sums[name]:
            yield f"{name} is not what SHA256SUMS says"
    wanted = {f"nccl-env-{image}.oci.tar" for image in IMAGES} | {f"nccl-env-{VERSION}.tgz", "values.yaml", "digests"}
    for package in sorted(name for name in there if name.endswith(".deb")):
        architecture = package.removesuffix(".deb").rpartition("_")[2]
        wanted |= {f"nccl-env-{VERSION}-linux-{architecture}", f"nccl-env-{VERSION}-linux-{architecture}.copyright"}
    if wanted - there or not any(name.endswith(".deb") for name in there):
        yield f"not there: {wanted - there}, or a package"
    with tarfile.open(dist / f"nccl-env-{VERSION}.tgz") as archive:
        packed = {member.name.removeprefix("nccl-env/"): archive.extractfile(member).read()
                  for member in archive if member.isfile()}
    chart = {str(path.relative_to(SOURCE / "charts/nccl-env")): path.read_bytes()
             for path in (SOURCE / "charts/nccl-env").rglob("*") if path.is_file()}
    if packed != chart:
        yield f"the chart's archive differs in {sorted(packed.items() ^ chart.items())[:3]}"


def check_registry(dist, registry):
    named = yaml.safe_load((dist / "values.yaml").read_text())["image"]
    for image in IMAGES:
        index = registry.manifests.get((f"team/nccl-env-{image}", VERSION))
        if index is None:
            yield f"nccl-env-{image} was not pushed"
            continue
        digest = "sha256:" + hashlib.sha256(index).hexdigest()
        if image in named and (named["registry"], named[image]) != (
                f"{registry.host}/team", {"repository": f"nccl-env-{image}", "digest": digest}):
            yield f"values.yaml names {named[image]}, and the registry has {digest}"
        for entry in json.loads(index)["manifests"]:
            manifest = json.loads(registry.manifests[f"team/nccl-env-{image}", entry["digest"]])
            for part in (manifest["config"], *manifest["layers"]):
                if part["digest"] not in registry.blobs:
                    yield f"nccl-env-{image} lacks {part['digest']}"


def main():
    registry = Registry()
    try:
        with tempfile.TemporaryDirectory(prefix="nccl-env-release.") as folder:
            clone = Clone(pathlib.Path(folder), registry)
            found = list(check_refusals(clone))
            code, said = clone.release()
            dist = clone.path / "build/dist"
            found += [f"it fails: {said}"] if code else [*check_files(dist), *check_registry(dist, registry),
                                                          *check_push(clone)]
    finally:
        registry.close()
    for problem in found:
        print(problem)
    print(f"release: {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
