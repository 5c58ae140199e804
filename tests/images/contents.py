# SPDX-License-Identifier: Apache-2.0
"""What is in an image: its labels and user, only the files that it needs, and an SBOM that is true of them."""
import hashlib
import json
import pathlib
import re
import subprocess
import tempfile

import yaml

SOURCE = pathlib.Path(__file__).resolve().parents[2]
USER = "65532:65532"
PROGRAMS = {"webhook": "nccl-env-webhook", "agent": "nccl-env-agent", "cli": "nccl-env"}
OBJECTS = {"webhook": ("Deployment", "base/webhook.yaml"), "agent": ("DaemonSet", "base/agent.yaml")}

# All that may be in an image, {} being its program's name and {image} its own.
LIBRARY = r"usr/lib/[a-z0-9_]+-linux-gnu[a-z0-9]*"
EXPECTED = [r"usr/bin/{}", r"etc/(passwd|group|nsswitch\.conf)", r"usr/share/doc/[a-z0-9.+-]+/copyright",
            r"usr/share/doc/{image}/sbom\.spdx\.json", LIBRARY + r"/lib[A-Za-z0-9_+.-]+\.so\.[0-9.]+",
            r"usr/lib(64)?/(.*/)?ld-linux-[a-z0-9_-]+\.so\.[0-9]+"]
EXPECTED_OF_AGENT = [r"etc/libibverbs\.d/[a-z0-9_]+\.driver", LIBRARY + r"/libibverbs/lib[a-z0-9_]+-rdmav[0-9]+\.so"]
LINKS = {"lib": "usr/lib", "lib64": "usr/lib64"}


# Debian's copyright files, and the licence that they declare.
FORMAT = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n"
DECLARED = [
    (FORMAT + "Files: *\nCopyright: A\n  B\nLicense: Expat\n text\n\nFiles: debian/*\nLicense: GPL-2+\n", "MIT"),
    (FORMAT + "Files: debian/*\nLicense: GPL-2+\n\nFiles: *\nLicense: GPL-2+ or Expat\n", "GPL-2.0-or-later OR MIT"),
    (FORMAT + "Files: *\nLicense: Apache-2.0 and BSD-3-clause\n", "Apache-2.0 AND BSD-3-Clause"),
    (FORMAT + "Files: *\nLicense: BSD-MIT or GPL-2\n", "NOASSERTION"),
    (FORMAT + "Files: *\nLicense: Expat and ISC or GPL-2\n", "NOASSERTION"),  # binds in more than one way
    (FORMAT + "Files: src/*\nLicense: Expat\n", "NOASSERTION"),
    ("This package was debianized.\nFiles: *\nLicense: Expat\n", "NOASSERTION"),
]


def check_licences(licence):
    for text, wanted in DECLARED:
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(text)
            file.flush()
            if (found := licence(pathlib.Path(file.name))) != wanted:
                yield f"licence {found} instead of {wanted} of {text!r}"


def container(image):
    """The first container of the image's Deployment or DaemonSet, and its pod."""
    kind, path = OBJECTS[image]
    documents = yaml.safe_load_all((SOURCE / "manifests" / path).read_text())
    pod = next(one for one in documents if one["kind"] == kind)["spec"]["template"]["spec"]
    return pod["containers"][0], pod


def check_config(image, archive, version):
    config, name = archive.config["config"], f"nccl-env-{image}"
    told = [("the archive's name", archive.name, f"docker.io/library/{name}:{version}"),
            ("the user", config.get("User"), USER),
            ("what pods get", [entry["value"] for entry in container("webhook")[0]["env"]], [f"nccl-env-agent:{version}"]),
            ("the entry point", config.get("Entrypoint"), [f"/usr/bin/{PROGRAMS[image]}"]),
            ("the arguments", config.get("Cmd"), None)]
    if image in OBJECTS:
        manifest, pod = container(image)
        security = pod["securityContext"]
        told += [("the manifest's image", manifest["image"], f"{name}:{version}"),
                 ("the manifest's user", f"{security['runAsUser']}:{security['runAsGroup']}", USER)]
    for what, found, wanted in told:
        if found != wanted:
            yield f"{what} is {found}, not {wanted}"
    labels = {key.removeprefix("org.opencontainers.image."): value for key, value in config["Labels"].items()}
    revision = subprocess.run(["git", "rev-parse", "HEAD"], cwd=SOURCE, capture_output=True, text=True,
                              check=True).stdout.strip()
    for key, pattern in (("title", name), ("version", re.escape(version)), ("revision", f"{revision}(-dirty)?"),
                         ("licenses", "Apache-2.0"), ("description", ".{20,}"), ("created", r"[0-9-]{10}T[0-9:]{8}Z")):
        if not re.fullmatch(pattern, labels.get(key, "")):
            yield f"label {key} is {labels.get(key)!r}"


def check_files(image, archive):
    """Of root, not to be written by others, all expected, and the SBOM's."""
    patterns = [pattern.format(re.escape(PROGRAMS[image]), image=re.escape(f"nccl-env-{image}"))
                for pattern in EXPECTED + (EXPECTED_OF_AGENT if image == "agent" else [])]
    regular = {}
    for layer in archive.members():
        for member in layer:
            name = member.name.rstrip("/")
            if (member.uid, member.gid) != (0, 0):
                yield f"{name} is of {member.uid}:{member.gid}"
            if member.issym():
                if LINKS.get(name) != member.linkname:
                    yield f"the link {name} to {member.linkname} is not expected"
                continue
            if member.mode & 0o7022:
                yield f"{name} has mode {member.mode:o}"
            if member.isdir():
                continue
            if not member.isfile() or not any(re.fullmatch(pattern, name) for pattern in patterns):
                yield f"{name} is not expected"
            runs = name.startswith("usr/bin/") or pathlib.Path(name).name.startswith("ld-linux-")
            if bool(member.mode & 0o111) != runs:
                yield f"{name} has mode {member.mode:o}"
            if name in regular:
                yield f"{name} is there twice"
            regular[name] = layer.extractfile(member).read()
    yield from check_sbom(image, regular)
    if image == "agent":
        yield from check_providers(regular)


def check_providers(files):
    """Each driver that libibverbs is told of is there, and it looks where they are."""
    library = next(data for name, data in files.items() if "/libibverbs.so." in name)
    drivers = [name for name in files if name.endswith(".driver")]
    providers = [name for name in files if "/libibverbs/" in name]
    if b"/etc/libibverbs.d\0" not in library or str(pathlib.Path("/", providers[0]).parent).encode() not in library:
        yield "libibverbs looks for its providers elsewhere"
    for driver in drivers:
        word = files[driver].decode().split()
        if word[0] != "driver" or not any(f"/lib{word[1]}-rdmav" in name for name in providers):
            yield f"{driver} names a provider that is not there"
    if not any("/libmlx5-" in name for name in providers) or len(providers) < len(drivers):
        yield f"there are {len(providers)} providers for {len(drivers)} drivers"


def check_sbom(image, files):
    own = f"usr/share/doc/nccl-env-{image}/sbom.spdx.json"
    if own not in files:
        yield "there is no SBOM"
        return
    document = json.loads(files[own])
    listed = {entry["fileName"].removeprefix("./"): {one["algorithm"]: one["checksumValue"] for one in entry["checksums"]}
              for entry in document["files"]}
    for name in listed.keys() ^ (files.keys() - {own}):
        yield f"{name} is only {'in the SBOM' if name in listed else 'in the image'}"
    for name in listed.keys() & files.keys():
        if hashlib.sha256(files[name]).hexdigest() != listed[name]["SHA256"]:
            yield f"{name} is another than the SBOM's"
    packages = {package["name"]: package for package in document["packages"]}
    for name in {pathlib.Path(path).parts[3] for path in files if path.endswith("/copyright")}:
        if name not in packages or not re.fullmatch(r"pkg:deb/debian/.+@.+\?arch=.+&distro=debian-12",
                                                    packages[name]["externalRefs"][0]["referenceLocator"]):
            yield f"the SBOM does not know {name}"
    if packages["nccl-env"]["licenseDeclared"] != "Apache-2.0" or not packages["libc6"]["versionInfo"].startswith("2.36"):
        yield "the SBOM's packages are not what they are"


def check_spdx(image, archive, checker):
    """By SPDX's own tool."""
    own = f"usr/share/doc/nccl-env-{image}/sbom.spdx.json"
    for layer in archive.members():
        if own in layer.getnames():
            with tempfile.NamedTemporaryFile(suffix=".spdx.json") as file:
                file.write(layer.extractfile(own).read())
                file.flush()
                done = subprocess.run([checker, "--infile", file.name], capture_output=True, text=True, check=False)
            if done.returncode:
                yield f"pyspdxtools: {done.stdout}{done.stderr}"
            return
    yield "there is no SBOM"
