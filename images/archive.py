# SPDX-License-Identifier: Apache-2.0
"""An image in an OCI archive, every blob checked against its digest."""
import gzip
import hashlib
import io
import json
import tarfile


class Archive:
    """manifest, config and digest as in the archive; layers: of each what its blob unpacks to."""

    def __init__(self, path):
        with tarfile.open(path) as archive:
            self.blobs = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}
        manifests = json.loads(self.blobs["index.json"])["manifests"]
        if len(manifests) != 1:
            raise ValueError(f"{path} holds {len(manifests)} images")
        self.digest = manifests[0]["digest"]
        self.name = manifests[0]["annotations"]["org.opencontainers.image.ref.name"]
        self.manifest = json.loads(self.blob(self.digest))
        self.config = json.loads(self.blob(self.manifest["config"]["digest"]))
        self.packed = sum(layer["size"] for layer in self.manifest["layers"])
        self.layers = [gzip.decompress(self.blob(layer["digest"])) for layer in self.manifest["layers"]]

    def blob(self, digest):
        algorithm, value = digest.split(":")
        data = self.blobs[f"blobs/{algorithm}/{value}"]
        if hashlib.new(algorithm, data).hexdigest() != value:
            raise ValueError(f"blob {digest} is not what its name says")
        return data

    @property
    def unpacked(self):
        return sum(len(layer) for layer in self.layers)

    def members(self):
        """Of each layer its tar file, the lowest first."""
        for layer in self.layers:
            yield tarfile.open(fileobj=io.BytesIO(layer))
