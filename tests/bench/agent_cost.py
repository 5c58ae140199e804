#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What nccl-env-agent costs: a node of 16 HCAs with GID tables of 255 entries, as a copy of sysfs.

Prints the time from start to the first published table, resident memory, and the CPU time of --seconds (60) in which
nothing happens but the look that comes once a minute, as figures.py reads them. Exits 1 over the limits below."""
import argparse
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from figures import figure

START_LIMIT = 1.0  # seconds
MEMORY_LIMIT = 15 * 1024  # KiB
CPU_LIMIT = 0.002  # of one CPU
ZERO = "0000:0000:0000:0000:0000:0000:0000:0000"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def link(path, target):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(os.path.relpath(target, path.parent))


def make_tree(root, devices, rows):
    for number in range(devices):
        function = root / f"devices/pci0000:{number:02x}/0000:{number + 16:02x}:00.0"
        device = function / f"infiniband/mlx5_{number}"
        link(root / f"class/infiniband/mlx5_{number}", device)
        driver = root / "bus/pci/drivers/mlx5_core"
        driver.mkdir(parents=True, exist_ok=True)
        write(function / "numa_node", str(number % 2))
        write(function / f"net/eth{number}/dev_port", "0")
        write(function / f"net/eth{number}/speed", "200000")
        link(function / "driver", driver)
        link(root / f"class/net/eth{number}", function / f"net/eth{number}")
        write(device / "node_type", "1: CA")
        write(device / "board_id", "MT_0000000223")
        write(device / "sys_image_guid", f"b83f:d203:00b4:{number:04x}")
        link(device / "device", function)
        port = device / "ports/1"
        write(port / "state", "4: ACTIVE")
        write(port / "link_layer", "Ethernet")
        write(port / "rate", "200 Gb/sec (4X HDR)")
        gids = [f"fe80:0000:0000:0000:eaeb:d3ff:fecc:{number:04x}"] * 2
        gids += [f"0000:0000:0000:0000:0000:ffff:190b:{number:02x}02"] * 2
        for index in range(rows):
            write(port / f"gids/{index}", gids[index] if index < 4 else ZERO)
            if index < 4:
                write(port / f"gid_attrs/types/{index}", "RoCE v2" if index % 2 else "IB/RoCE v1")
                write(port / f"gid_attrs/ndevs/{index}", f"eth{number}")


def cpu_seconds(pid):
    """By the process's clock (clock_getcpuclockid(3)): /proc counts in hundredths, which is more than a minute takes."""
    return time.clock_gettime(~pid << 3 | 2)


def resident(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def wait_for(path, limit=20):
    end = time.monotonic() + limit
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.002)
    return path.exists()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--devices", type=int, default=16)
    parser.add_argument("program", help="nccl-env-agent")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        make_tree(root / "sys", args.devices, 255)
        (root / "store").mkdir()
        table = root / "store/node.yaml"
        command = [args.program, "run", "--node-name", "node", "--sysfs", root / "sys", "--store", f"dir:{root}/store",
                   "--ops-listen", "127.0.0.1:0", "--log-level", "warn"]
        begin = time.monotonic()
        agent = subprocess.Popen(command)
        try:
            if not wait_for(table):
                sys.exit("no table was published")
            started = time.monotonic() - begin
            before = cpu_seconds(agent.pid)
            time.sleep(args.seconds)
            used = (cpu_seconds(agent.pid) - before) / args.seconds
            memory = resident(agent.pid)
        finally:
            agent.send_signal(signal.SIGTERM)
            code = agent.wait(10)
    for name, value in (("first_table_ms", started * 1000), ("resident_mib", memory / 1024), ("idle_cpu_percent", used * 100)):
        print(figure(f"agent_{args.devices}_devices_{name}", [value]))
    if code != 0 or started > START_LIMIT or memory > MEMORY_LIMIT or used > CPU_LIMIT:
        sys.exit("over the limits of tests/bench/agent_cost.py, or it did not end well")


if __name__ == "__main__":
    main()
