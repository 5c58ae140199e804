# SPDX-License-Identifier: Apache-2.0
"""Made-up RDMA devices in /sys/class, as drivers show them; our agent, the readers and their libibverbs read the same."""
import os
import pathlib
import subprocess

V1, V2 = "IB/RoCE v1", "RoCE v2"
MOST = 16


class Device:
    """One port. `row` has the routable RoCE v2 address; rows before it are link-local, and its twin is version 1. Row 0 of
    InfiniBand has the port's only GID."""

    def __init__(self, name, number, row=3, board="MT_0000000223", rate=200):
        self.name = name
        self.number = number
        self.row = row
        self.board = board
        self.rate = rate

    def rows(self):
        local, address = f"fe80:0000:0000:0000:0000:0000:0000:00{self.number + 2:02x}", 0x190b0002 + (self.number << 8)
        routable = f"0000:0000:0000:0000:0000:ffff:{address >> 16:04x}:{address & 0xffff:04x}"
        if self.row == 0:
            return {0: (V1, f"fe80:0000:0000:0000:b83f:d203:00b4:f5{self.number:02x}")}
        first = {0: (V1, local), 1: (V2, local)}
        return {**first, self.row - 1: (V1, routable), self.row: (V2, routable)}


def ours(*names, **options):
    return [Device(name, int(name.split("_")[1]), **options) for name in names]


def other(name, **options):
    """A port of another board and rate: storage, management."""
    return Device(name, int(name.split("_")[1]), **{"board": "MT_0000000359", "rate": 25, **options})


# What a node has: devices of its fabric, and others.
NODES = {
    "rails": (ours("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"), [other("mlx5_4", row=5)]),
    "one": (ours("mlx5_0"), [other("mlx5_1")]),
    "prefix": (ours("mlx5_1", "mlx5_2"), [other("mlx5_10")]),
    "uneven": (ours("mlx5_0") + ours("mlx5_1", row=5), []),
    "infiniband": (ours("mlx5_0", "mlx5_1", row=0), []),
    "renamed": (ours("roce_0", "roce_1"), [other("mlx5_2")]),
    "two-fabrics": (ours("mlx5_0", "mlx5_1"), ours("mlx5_2", "mlx5_3", board="OTHER")),
}


def file(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def link(path, target):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(os.path.relpath(target, path.parent))


def write(root, devices):
    """The devices below `root`, which takes the place of /sys."""
    file(root / "bus/pci/drivers/mlx5_core/new_id", "")
    for device in devices:
        function = root / f"devices/pci0000:50/0000:{0x10 + device.number:02x}:00.0"
        infiniband, netdev = function / "infiniband" / device.name, f"rail{device.number}"
        port = infiniband / "ports/1"
        for path, text in {function / "numa_node": "0", infiniband / "node_type": "1: CA",
                           function / "vendor": "0x15b3", infiniband / "board_id": device.board,
                           infiniband / "sys_image_guid": f"b83f:d203:00b4:f5{device.number:02x}",
                           function / f"net/{netdev}/dev_port": "0",
                           port / "link_layer": "Ethernet" if device.row else "InfiniBand",
                           port / "state": "4: ACTIVE", port / "phys_state": "5: LinkUp",
                           port / "rate": f"{device.rate} Gb/sec (4X HDR)"}.items():
            file(path, text)
        for index in range(8):
            kind, gid = device.rows().get(index, (None, "0000:0000:0000:0000:0000:0000:0000:0000"))
            file(port / f"gids/{index}", gid)
            if kind:
                file(port / f"gid_attrs/types/{index}", kind)
            if kind and device.row:
                file(port / f"gid_attrs/ndevs/{index}", netdev)
        link(infiniband / "device", function)
        link(function / "driver", root / "bus/pci/drivers/mlx5_core")
        link(root / "class/infiniband" / device.name, infiniband)
        link(root / "class/net" / netdev, function / "net" / netdev)


class Sys:
    """A tree for each node; one of them at a time stands at /sys. Also a version of the module that lets NICs reach GPUs'
    memory, without which NVSHMEM does not begin, and character devices, of which Mooncake asks only that they exist."""

    def __init__(self, folder):
        self.roots = {name: folder / name for name in NODES}
        for name, (fabric, others) in NODES.items():
            root = self.roots[name]
            write(root, [*fabric, *others])
            file(root / "kernel/mm/memory_peers/nv_mem/version", "1")
            (root / "devices/system").mkdir()
            subprocess.run(["mount", "--rbind", "/sys/devices/system", root / "devices/system"], check=True)
        for number in range(MOST):
            link(pathlib.Path(f"/dev/infiniband/uverbs{number}"), "/dev/null")
        self.shown = None

    def show(self, name):
        if self.shown == name:
            return
        if self.shown:
            subprocess.run(["umount", "--recursive", "/sys"], check=True)
        subprocess.run(["mount", "--rbind", self.roots[name], "/sys"], check=True)
        self.shown = name


def fabric_of(node):
    return {device.name: device for device in NODES[node][0]}


def device_of(node, name):
    return next(device for some in NODES[node] for device in some if device.name == name)


def is_link_local(node, name, index):
    """Also true for a row that is not there; the row of InfiniBand is the right one."""
    device = device_of(node, name)
    return index != device.row and device.rows().get(index, (None, "fe80"))[1].startswith("fe80")

