# SPDX-License-Identifier: Apache-2.0
"""The guest's half of every scenario: commands, what the kernel says, and the results for the host."""
import contextlib
import importlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time
import traceback

RESULTS = pathlib.Path("/tmp/results")
AGENT = "/lab/bin/nccl-env-agent"
INFINIBAND = pathlib.Path("/sys/class/infiniband")
HANG_SECONDS = 900  # for one wait: says that nothing comes any more, and never how fast the guest is
READ_SECONDS = 600  # the most that `resolve` takes
AS_NOBODY = ("python3", "/lab/tests/as_nobody.py")  # runs the rest of the command line without any privilege


def sh(text):
    """The output of a shell command that has to succeed."""
    done = subprocess.run(text, shell=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{text}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def save(name, value):
    path = RESULTS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=1))


def wait_for(condition, pause=0.02, otherwise=lambda: "still not so"):
    """Polls; returns what was true in the end. `otherwise` says what is wrong where that never comes."""
    end = time.monotonic() + HANG_SECONDS
    while not (value := condition()):
        if time.monotonic() > end:
            raise RuntimeError(f"{otherwise()} after {HANG_SECONDS} s")
        time.sleep(pause)
    return value


def slowness():
    """How many times slower this guest is now than that of tests/lab/README.md, for a remark beside the figures."""
    begin, total = time.monotonic(), 0
    for number in range(60_000):
        total += number
    return max(1.0, (time.monotonic() - begin) / 0.05)


def settle():
    """Waits until no IPv6 address is tentative: such an address is not usable yet, but its GID is already there."""
    wait_for(lambda: not sh("ip -6 addr show tentative"))


def up(netdev, *addresses):
    sh(f"ip link set {netdev} up")
    for address in addresses:
        sh(f"ip addr add {address} dev {netdev}")


def rxe(name, netdev):
    sh(f"rdma link add {name} type rxe netdev {netdev}")


def read(path):
    """Without the newline; None where the kernel refuses, as it does for the type of an empty row."""
    try:
        return path.read_text().rstrip("\n")
    except OSError:
        return None


def port_in_sysfs(folder):
    attributes = folder / "gid_attrs"
    # A thousand reads by Python take seconds under emulation.
    rows = dict(line.split(":", 1) for line in sh(f"cd {folder}/gids && grep -H '[1-9a-f]' * || true").splitlines())
    gids = {index: {"gid": gid, "type": read(attributes / "types" / index), "ndev": read(attributes / "ndevs" / index)}
            for index, gid in rows.items()}
    pkeys = {index.name: read(index) for index in (folder / "pkeys").glob("*")}
    return {"gids": gids, "gidTableLength": len(os.listdir(folder / "gids")), "pkeys": pkeys,
            **{name: read(folder / name) for name in ("state", "phys_state", "rate", "link_layer", "lid")}}


def devices_in_sysfs(hcas=()):
    return {device.name: {**{name: read(device / name) for name in ("node_type", "node_guid", "sys_image_guid", "parent")},
                          "ports": {port.name: port_in_sysfs(port) for port in (device / "ports").iterdir()}}
            for device in INFINIBAND.iterdir() if not hcas or device.name in hcas}


def kernel(name, hcas=(), wrapper=()):
    """Saves the kernel's facts on these HCAs, or on all, for tests/lab/kernel.py; `wrapper`: `ip netns exec`, to ask
    in that namespace."""
    if wrapper:
        sh(shlex.join([*wrapper, "python3", __file__, "--kernel", name, *hcas]))
        return
    save(f"{name}.sysfs.json", devices_in_sysfs(hcas))
    save(f"{name}.ibv_devinfo", "".join(sh(f"ibv_devinfo -v -d {hca}") for hca in hcas) or sh("ibv_devinfo -v"))
    save(f"{name}.addr.json", sh("ip -j addr show"))


def ranges(lines):
    """`lines` of (index, text), with runs of the same text in one: "4..254 text"."""
    runs = []
    for index, text in sorted(lines):
        if runs and runs[-1][2] == text and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index, text])
    return [f"{first}..{last} {text}" if first != last else f"{first} {text}" for first, last, text in runs]


def captured():
    """Everything that the agent reads in sysfs, as text for tests/data/sysfs: `link PATH TARGET`, or a folder and below
    it the contents of its files, `!` where the kernel refuses to say."""
    lines = []

    def folder(path, names):
        texts = {name: read(path / name) for name in names if (path / name).is_file()}
        texts = {name: "!" if text is None else text for name, text in texts.items()}
        if set(texts) and all(name.isdigit() for name in texts):
            entries = ranges([(int(name), text) for name, text in texts.items()])
        else:
            entries = [f"{name} {text}" for name, text in sorted(texts.items())]
        lines.append(f"in {path.relative_to('/sys')}")
        lines.extend(f"  {entry}".rstrip() for entry in entries)

    for kind in ("infiniband", "net"):
        for link in sorted(pathlib.Path("/sys/class", kind).iterdir()):
            lines.append(f"link {link.relative_to('/sys')} {link.resolve().relative_to('/sys')}")
    for device in sorted(path.resolve() for path in INFINIBAND.iterdir()):
        folder(device, ("node_type", "node_desc", "node_guid", "sys_image_guid", "fw_ver", "hca_type", "parent"))
        for port in sorted((device / "ports").iterdir()):
            folder(port, ("state", "phys_state", "rate", "link_layer", "lid"))
            for table in ("gids", "gid_attrs/types", "gid_attrs/ndevs", "pkeys"):
                folder(port / table, os.listdir(port / table))
    for netdev in sorted(path.resolve() for path in pathlib.Path("/sys/class/net").iterdir()):
        folder(netdev, ("address", "dev_port", "flags", "ifindex", "mtu", "operstate", "speed", "type"))
    return "\n".join(lines) + "\n"


def agent(name, *arguments, env=None, wrapper=()):
    """Runs the agent to its end; saves stdout, stderr and exit code."""
    done = subprocess.run([*wrapper, AGENT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, **(env or {})}, check=False, timeout=HANG_SECONDS)
    save(f"{name}.out", done.stdout)
    save(f"{name}.err", done.stderr)
    save(f"{name}.code", str(done.returncode))
    return done


def resolve(name, policy, wrapper=(), options=()):
    """Runs `resolve` for a policy; saves what agent() does, and NAME.conf if it wrote one."""
    conf = pathlib.Path("/tmp/nccl.conf")
    conf.unlink(missing_ok=True)
    agent(name, "resolve", f"--read-seconds={READ_SECONDS}", "--out", str(conf), *options,
          env={"NCCL_ENV_POLICY": json.dumps(policy)}, wrapper=wrapper)
    if conf.exists():
        save(f"{name}.conf", conf.read_text())


def without_devices(*command):
    """A command line that runs `command` with an empty /dev/infiniband."""
    return ["unshare", "-m", "/bin/bash", "-c", 'mount -t tmpfs none /dev/infiniband && exec "$@"', "sh", *command]


@contextlib.contextmanager
def workers_held():
    """Meanwhile the kernel's workers get no processor, and all others do: what the kernel leaves to a work queue, such
    as the GID row of an address, is late."""
    tasks = [int(task.name) for task in pathlib.Path("/proc").glob("[0-9]*/task/[0-9]*")
             if not (read(task / "comm") or "kworker").startswith("kworker")]
    ordinary = [task for task in tasks if os.sched_getscheduler(task) == os.SCHED_OTHER]
    share = pathlib.Path("/proc/sys/kernel/sched_rt_runtime_us")
    usual = share.read_text()
    share.write_text("-1")  # else the workers get a twentieth
    for task in ordinary:
        os.sched_setscheduler(task, os.SCHED_FIFO, os.sched_param(20))
    spinning = ("import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); "
                "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10)); print(flush=True)\nwhile True: pass")
    spinners = []
    try:
        for processor in os.sched_getaffinity(0):
            spinners.append(subprocess.Popen(["python3", "-c", spinning, str(processor)], stdout=subprocess.PIPE))
            spinners[-1].stdout.readline()
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()
        for task in ordinary:
            os.sched_setscheduler(task, os.SCHED_OTHER, os.sched_param(0))
        share.write_text(usual)


def memory_kib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    if sys.argv[1] == "--kernel":
        kernel(sys.argv[2], sys.argv[3:])
        return 0
    try:
        importlib.import_module(f"scenarios.{sys.argv[1]}").guest()
    except Exception:  # whatever it is, the host has to hear of it
        save("guest.error", traceback.format_exc() + "\n" + sh("dmesg | tail -n 12"))
        return 1
    return 0


if __name__ == "__main__":
    sys.modules["guest"] = sys.modules["__main__"]
    sys.exit(main())
