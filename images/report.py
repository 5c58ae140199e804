# SPDX-License-Identifier: Apache-2.0
"""What scripts/image says of the images that it has built, and the files that name them by their indexes' digests.

  report.py DIRECTORY VERSION REPOSITORY [COMMIT]     COMMIT: they have to be of this one"""
import json
import pathlib
import sys

from archive import Archive

# The whole webhook unpacked: less than many a base image, so that a node that has to start it is not kept waiting.
MOST_BYTES = 25_000_000


def versions(sbom):
    return {package["name"]: package["versionInfo"] for package in json.loads(sbom)["packages"]}


def differences(one, other):
    """Debian's packages of which two architectures have other versions."""
    for name in sorted(one.keys() & other.keys()):
        if one[name] != other[name]:
            yield f"{name}: {one[name]} and {other[name]}"


def main(out, version, repository, commit=None):
    images = {name: Archive(out / f"nccl-env-{name}.oci.tar") for name in ("webhook", "agent", "cli")}
    digests, uneven = [], set()
    for name, image in images.items():
        print(f"nccl-env-{name}:{version}  {image.digest}  build/image/nccl-env-{name}.oci.tar")
        digests.append(f"{image.digest}  nccl-env-{name}:{version}\n")
        sboms = {}
        for architecture, one in image.images.items():
            revision = one.config["config"]["Labels"]["org.opencontainers.image.revision"]
            if commit not in (None, revision):
                sys.exit(f"nccl-env-{name} is of commit {revision}, not {commit}: make image")
            print(f"  {architecture}  {one.digest}  {one.unpacked / 1e6:.1f} MB in {len(one.layers)} layers, "
                  f"{one.packed / 1e6:.1f} MB packed")
            digests.append(f"{one.digest}  nccl-env-{name}:{version} {architecture}\n")
            sboms[architecture] = one.read("sbom.spdx.json")
            (out / f"nccl-env-{name}.{architecture}.spdx.json").write_bytes(sboms[architecture])
        uneven |= set(differences(*map(versions, sboms.values()))) if len(sboms) == 2 else set()
    if uneven:
        print("The architectures have other versions of Debian's packages; `apt upgrade` on this machine, and for arm64\n"
              "`scripts/in-root arm64 sh -c 'apt-get update && apt-get upgrade'`, make them even:\n  " + "\n  ".join(sorted(uneven)))
    (out / "digests").write_text("".join(digests))
    del images["cli"]  # no manifest names it
    (out / "values.yaml").write_text(f"image:\n  registry: {repository}\n" + "".join(
        f"  {name}: {{repository: nccl-env-{name}, digest: \"{image.digest}\"}}\n"
        for name, image in images.items()))
    (out / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nimages:\n" + "".join(
            f"- {{name: nccl-env-{name}, newName: {repository}/nccl-env-{name}, digest: \"{image.digest}\"}}\n"
            for name, image in images.items()))
    print("""By digest, once `make push` has pushed them there (docs/operate/install.md):
  helm install … --values build/image/values.yaml, without --set image.registry
  kustomization.yaml of yours: `components: [../build/image]`, in place of `images`""")
    for architecture, image in images["webhook"].images.items():
        if image.unpacked > MOST_BYTES:
            sys.exit(f"nccl-env-webhook for {architecture} is larger than {MOST_BYTES / 1e6:.0f} MB")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), *sys.argv[2:])
