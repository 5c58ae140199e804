# SPDX-License-Identifier: Apache-2.0
"""One boot of a guest: a payload goes in beside the initramfs, a tar archive of results comes out."""
import dataclasses
import io
import pathlib
import re
import subprocess
import tarfile
import tempfile

MEMORY_MIB = 768
# 100 and 25 Gb/s, and one that does not know its speed; the second and third behind root ports of their own, on amd64
# the third on the other NUMA node.
NICS = (("52:54:00:00:00:10", "speed=100000,duplex=full,bus=pcie.0,addr=0x10"),
        ("52:54:00:00:00:11", "speed=25000,duplex=full,bus=near"),
        ("52:54:00:00:00:12", "bus=far"))


@dataclasses.dataclass
class Outcome:
    status: int | None  # the scenario's own exit status; None: the guest died or was too slow
    console: str
    results: dict  # file name -> text


def accelerator():
    """/dev/kvm may open and still boot no stock kernel (nested page-table VMs): the CPU has to say that it can."""
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    usable = re.search(r"\b(vmx|svm)\b", flags)
    try:
        open("/dev/kvm", "r+b").close()
    except OSError:
        usable = None
    return ("kvm", "host") if usable else ("tcg,thread=multi", "max")


def machine(architecture):
    """The part of QEMU's command line that depends on the architecture."""
    if architecture == "arm64":  # emulated; without firmware's ACPI the kernel does not find what is behind a pxb-pcie
        return ["qemu-system-aarch64", "-accel", "tcg,thread=multi", "-cpu", "cortex-a72", "-machine", "virt",
                "-device", "pcie-root-port,id=far,bus=pcie.0,chassis=2,slot=2,addr=0x6"]
    accel, cpu = accelerator()
    return ["qemu-system-x86_64", "-accel", accel, "-cpu", cpu, "-machine", "q35",
            "-device", "pxb-pcie,id=bridge,bus_nr=64,bus=pcie.0,numa_node=1,addr=0x4",
            "-device", "pcie-root-port,id=far,bus=bridge,chassis=2,slot=2"]


def command(architecture, image, initrd, results):
    half = MEMORY_MIB // 2
    console = "ttyAMA0" if architecture == "arm64" else "ttyS0"
    line = [*machine(architecture), "-smp", "2", "-m", str(MEMORY_MIB),
            "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "stdio",
            "-kernel", image / "kernel", "-initrd", initrd,
            # An oops has to end the guest, not hang it; beside other work the timer fails its check at boot.
            "-append", f"console={console} quiet loglevel=4 panic=-1 oops=panic softlockup_panic=1 mitigations=off "
                       "audit=0 apparmor=0 random.trust_cpu=on net.ifnames=0 no_timer_check",
            "-device", "virtio-serial-pci,bus=pcie.0,addr=0x3", "-chardev", f"file,id=results,path={results}",
            "-device", "virtserialport,chardev=results",
            "-device", "pcie-root-port,id=near,bus=pcie.0,chassis=1,slot=1,addr=0x5"]
    for node in (0, 1):
        line += ["-object", f"memory-backend-ram,id=m{node},size={half}M", "-numa", f"node,memdev=m{node},cpus={node}"]
    for number, (mac, options) in enumerate(NICS):
        line += ["-netdev", f"hubport,id=n{number},hubid=0", "-device", f"virtio-net-pci,netdev=n{number},mac={mac},{options}"]
    return line


def archive(payload, target):
    """A cpio archive of the folder `payload`; the kernel takes several of them in a row."""
    names = b"\0".join(str(path.relative_to(payload)).encode() for path in sorted(payload.rglob("*")))
    subprocess.run(["cpio", "--null", "-o", "-H", "newc", "--quiet"], cwd=payload, input=names, stdout=target, check=True)


def boot(architecture, image, payload, limit):
    """Runs what `init` starts for at most `limit` seconds."""
    with tempfile.TemporaryDirectory(prefix="nccl-env-lab-") as folder:
        initrd, results = pathlib.Path(folder, "initrd"), pathlib.Path(folder, "results.tar")
        with initrd.open("wb") as target:
            target.write((image / "initrd").read_bytes())
            target.flush()
            archive(payload, target)
        process = subprocess.Popen(command(architecture, image, initrd, results), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        try:
            console = process.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            console = process.communicate()[0] + f"\nno end within {limit} s".encode()
        found = unpack(results)
        status = found.pop("status", None)
        return Outcome(status and int(status), console.decode(errors="replace"), found)


def unpack(results):
    if not results.exists() or not results.stat().st_size:
        return {}
    with tarfile.open(fileobj=io.BytesIO(results.read_bytes())) as archive_:
        return {pathlib.PurePath(member.name).as_posix(): archive_.extractfile(member).read().decode(errors="replace")
                for member in archive_ if member.isfile()}
