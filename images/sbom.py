# SPDX-License-Identifier: Apache-2.0
"""An image's software bill of materials: SPDX 2.3 as JSON, the same bytes for the same files.

The image contains our program's package and, each with its version and source package, Debian's; each file of the
image is of one of them. Licences are those that Debian's copyright file declares for `Files: *` in names that SPDX
knows; for all others NOASSERTION."""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess

OURS = "nccl-env"
VERSION = pathlib.Path(__file__).resolve().parents[1] / "scripts/version"
DISTRIBUTION = "debian-12"
# Debian's short names (copyright format 1.0), and SPDX's.
LICENCES = {
    "apache-2.0": "Apache-2.0", "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause", "bsl-1.0": "BSL-1.0",
    "cc0-1.0": "CC0-1.0", "expat": "MIT", "gpl-2": "GPL-2.0-only", "gpl-2+": "GPL-2.0-or-later",
    "gpl-3": "GPL-3.0-only", "gpl-3+": "GPL-3.0-or-later", "isc": "ISC", "lgpl-2.1": "LGPL-2.1-only",
    "lgpl-2.1+": "LGPL-2.1-or-later", "zlib": "Zlib",
}


def licence(copyright_file):
    """What a machine-readable copyright file declares for `Files: *`, as an SPDX expression, or NOASSERTION."""
    text = copyright_file.read_text(errors="replace")
    stanza = re.search(r"^Files: *\*\n(?:\S.*\n|[ \t].*\n)*?License: *(\S.*)\n", text, re.M)
    if not text.startswith("Format:") or not stanza:
        return "NOASSERTION"
    words = [word.strip() for word in re.split(r" (and|or) ", stanza[1].lower())]
    names = [word if word in ("and", "or") else LICENCES.get(word, "") for word in words]
    if "" in names or ("and" in names and "or" in names):
        return "NOASSERTION"
    return " ".join(name.upper() if name in ("and", "or") else name for name in names)


def identifier(kind, name):
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.]+", "-", name)


def digest(algorithm, data):
    return hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()


def debian(package):
    """One of Debian's packages, as dpkg has it installed."""
    fields = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}"
    name, version, architecture, source, source_version = subprocess.run(
        ["dpkg-query", "--show", f"--showformat={fields}", package], capture_output=True, text=True,
        check=True).stdout.split("\t")
    locator = (f"pkg:deb/debian/{name.replace('+', '%2B')}@{version.replace('+', '%2B').replace(':', '%3A')}"
               f"?arch={architecture}&distro={DISTRIBUTION}")
    return {
        "SPDXID": identifier("Package", name), "name": name, "versionInfo": version,
        "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION",
        "sourceInfo": f"built from Debian's source package {source} {source_version}",
        "licenseDeclared": licence(pathlib.Path("/usr/share/doc", name, "copyright")),
        "primaryPackagePurpose": "LIBRARY",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": locator}],
    }


def ours(version):
    return {"SPDXID": identifier("Package", OURS), "name": OURS, "versionInfo": version, "supplier": "NOASSERTION",
            "downloadLocation": "NOASSERTION", "licenseDeclared": "Apache-2.0",
            "primaryPackagePurpose": "APPLICATION"}


def described_files(trees):
    """SPDX files by package; each a regular file, since links hold nothing."""
    files = {}
    for tree in trees:
        for name, package in tree.files.items():
            data = (tree.path / name).read_bytes()
            files.setdefault(package, []).append({
                "SPDXID": identifier("File", digest("sha256", name.encode())[:16]), "fileName": "./" + name,
                "checksums": [{"algorithm": algorithm.upper(), "checksumValue": digest(algorithm, data)}
                              for algorithm in ("sha1", "sha256")],
                "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION"})
    return files


def verification_code(files):
    """SPDX 2.3, 7.9: SHA1 over the files' SHA1s, sorted and joined."""
    sums = sorted(file["checksums"][0]["checksumValue"] for file in files)
    return {"packageVerificationCodeValue": digest("sha1", "".join(sums).encode())}


def relation(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def document(image, trees):
    """The SBOM's text. SOURCE_DATE_EPOCH is its time."""
    version = subprocess.run([VERSION], capture_output=True, text=True, check=True).stdout.strip()
    top = {"SPDXID": identifier("Image", image), "name": image, "versionInfo": version, "supplier": "NOASSERTION",
           "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
           "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION", "primaryPackagePurpose": "CONTAINER"}
    packages, files, relations = [top], [], [relation("SPDXRef-DOCUMENT", "DESCRIBES", top["SPDXID"])]
    for name, some in sorted(described_files(trees).items()):
        package = (ours(version) if name == OURS else debian(name)) | {
            "filesAnalyzed": True, "packageVerificationCode": verification_code(some),
            "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION"}
        packages.append(package)
        files += sorted(some, key=lambda file: file["fileName"])
        relations.append(relation(top["SPDXID"], "CONTAINS", package["SPDXID"]))
        relations += [relation(package["SPDXID"], "CONTAINS", file["SPDXID"]) for file in some]
    time = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    body = {"packages": packages, "files": files, "relationships": relations}
    unique = digest("sha256", json.dumps(body, sort_keys=True).encode())[:32]
    return json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": image,
        "documentNamespace": f"https://nccl-env.io/spdx/{image}-{version}-{unique}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: nccl-env-images-sbom"]},
        **body}, indent=1) + "\n"
