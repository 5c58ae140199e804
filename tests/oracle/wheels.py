# SPDX-License-Identifier: Apache-2.0
"""Unmodified libraries out of wheels on PyPI, downloaded once and kept outside the checkout."""
import fnmatch
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zipfile

# SHA-256 of the wheel for x86_64, as PyPI names it. The first knows neither NCCL_CONF_FILE nor running interfaces.
WHEELS = {
    "2.21.5": "8579076d30a8c24988834445f8d633c697d42397e92ffc3f63fa26766d25e0a0",
    "2.32.3": "bb94b2348e4861d5e8aa00b36c3d12d9bdf9c6369b82cbb723de0b582280a21c",
}
NEWEST = list(WHEELS)[-1]
DOWNLOAD_SECONDS = 900  # 350 MB at 400 kB/s


def libnccl(version):
    """Returns the path of that version's library."""
    path = "nvidia/nccl/lib/libnccl.so.2"
    return unpacked("nccl", "nvidia-nccl-cu12", version, WHEELS[version], path) / "libnccl.so.2"


def unpacked(name, project, version, digest, *patterns):
    """Returns a folder with these members of a wheel: one pattern, the files themselves; several, with their folders.
    What is there was checked by its hash when it came."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "nccl-env" / name
    path = cache / version
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            out = pathlib.Path(folder) / "out"
            with zipfile.ZipFile(download(project, version, digest, pathlib.Path(folder))) as archive:
                for member in archive.infolist():
                    if any(fnmatch.fnmatch(member.filename, pattern) for pattern in patterns):
                        if len(patterns) == 1:
                            member.filename = pathlib.Path(member.filename).name
                        archive.extract(member, out)
            out.rename(path)
    return path


def download(project, version, digest, folder):
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{project}=={version} --hash=sha256:{digest}\n")
    print(f"oracle: downloads {project} {version}", flush=True)
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                    "--no-cache-dir", "--only-binary=:all:", "--require-hashes", "-r", wanted, "-d", folder],
                   check=True, timeout=DOWNLOAD_SECONDS)
    wheel, = folder.glob("*.whl")
    return wheel


def texts(path):
    """Returns the bytes of the library's constants, .rodata; what else it holds is code for GPUs."""
    with open(path, "rb") as file:
        header = struct.unpack("<16sHHIQQQIHHHHHH", file.read(64))
        offset, size, count, names = header[6], header[11], header[12], header[13]
        file.seek(offset)
        sections = [struct.unpack("<IIQQQQIIQQ", file.read(size)) for _ in range(count)]
        file.seek(sections[names][4])
        words = file.read(sections[names][5])
        for section in sections:
            if words[section[0]:].startswith(b".rodata\0"):
                file.seek(section[4])
                return file.read(section[5])
    raise SystemExit(f"{path}: has no section .rodata")


def variable_names(constants):
    """Names that stand alone, as those that are looked up do."""
    return {name.decode() for name in re.findall(rb"(?<![A-Z0-9_])NCCL_[A-Z0-9_]+(?=\0)", constants)}
