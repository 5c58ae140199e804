# SPDX-License-Identifier: Apache-2.0
"""What scripts/image says of the images that it has built, and the files that name them by digest.

  report.py DIRECTORY VERSION REPOSITORY"""
import pathlib
import sys

from archive import Archive

# The whole webhook unpacked: less than many a base image, so that a node that has to start it is not kept waiting.
MOST_BYTES = 25_000_000


def main(out, version, repository):
    images = {name: Archive(out / f"nccl-env-{name}.oci.tar") for name in ("webhook", "agent")}
    for name, image in images.items():
        print(f"nccl-env-{name}:{version}  {image.digest}\n  {image.unpacked / 1e6:.1f} MB in {len(image.layers)} layers, "
              f"{image.packed / 1e6:.1f} MB packed; build/image/nccl-env-{name}.oci.tar")
        for layer in image.members():
            for member in layer:
                if member.name.endswith("sbom.spdx.json"):
                    (out / f"nccl-env-{name}.spdx.json").write_bytes(layer.extractfile(member).read())
    (out / "digests").write_text("".join(f"{image.digest}  nccl-env-{name}:{version}\n"
                                         for name, image in images.items()))
    (out / "values.yaml").write_text("image:\n" + "".join(
        f"  {name}: {{repository: {repository}/nccl-env-{name}, digest: \"{image.digest}\"}}\n"
        for name, image in images.items()))
    (out / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nimages:\n" + "".join(
            f"- {{name: nccl-env-{name}, newName: {repository}/nccl-env-{name}, digest: \"{image.digest}\"}}\n"
            for name, image in images.items()))
    print("""By digest, once they are pushed there (docs/operate/install.md):
  helm install … --values build/image/values.yaml
  kustomization.yaml of yours: `components: [PATH/build/image]`""")
    if images["webhook"].unpacked > MOST_BYTES:
        sys.exit(f"nccl-env-webhook is larger than {MOST_BYTES / 1e6:.0f} MB")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), *sys.argv[2:])
