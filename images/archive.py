# SPDX-License-Identifier: Apache-2.0
"""An OCI archive with one image for several architectures, every blob checked against its digest."""
import gzip
import hashlib
import io
import json
import tarfile


class Image:
    """Of one architecture. name: its archive's; layers: of each what its blob unpacks to."""

    def __init__(self, name, digest, blob):
        self.name, self.digest = name, digest
        self.manifest = json.loads(blob(digest))
        self.config = json.loads(blob(self.manifest["config"]["digest"]))
        self.packed = sum(layer["size"] for layer in self.manifest["layers"])
        self.layers = [gzip.decompress(blob(layer["digest"])) for layer in self.manifest["layers"]]

    @property
    def unpacked(self):
        return sum(len(layer) for layer in self.layers)

    def members(self):
        """Of each layer its tar file, the lowest first."""
        for layer in self.layers:
            yield tarfile.open(fileobj=io.BytesIO(layer))

    def read(self, suffix):
        """The file whose name ends so, or None."""
        for layer in self.members():
            for member in layer:
                if member.name.endswith(suffix):
                    return layer.extractfile(member).read()
        return None


class Archive:
    """name and digest as the archive's index has them; images: an Image by architecture."""

    def __init__(self, path):
        with tarfile.open(path) as archive:
            self.blobs = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}
        entries = json.loads(self.blobs["index.json"])["manifests"]
        if len(entries) != 1:
            raise ValueError(f"{path} holds {len(entries)} images")
        self.digest = entries[0]["digest"]
        self.name = entries[0]["annotations"]["org.opencontainers.image.ref.name"]
        self.images = {}
        for entry in json.loads(self.blob(self.digest))["manifests"]:
            image = Image(self.name, entry["digest"], self.blob)
            if [entry["platform"][key] for key in ("os", "architecture")] != ["linux", image.config["architecture"]]:
                raise ValueError(f"{path}: the platform of {image.digest} is not its own")
            self.images[image.config["architecture"]] = image

    def blob(self, digest):
        algorithm, value = digest.split(":")
        data = self.blobs[f"blobs/{algorithm}/{value}"]
        if hashlib.new(algorithm, data).hexdigest() != value:
            raise ValueError(f"blob {digest} is not what its name says")
        return data
