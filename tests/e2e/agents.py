# SPDX-License-Identifier: Apache-2.0
"""Agents as host processes, with the arguments of the DaemonSet, the token of its pod on that node, and a directory in
place of /sys."""
import json
import os
import urllib.error
import urllib.request

from objects import SPACES, arguments
from process import PATIENCE, Process, eventually


def write_sys(root, hcas, index):
    """ConnectX devices as their driver shows them, each with one RoCE v2 row at `index`."""
    def file(path, text):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text + "\n")

    def link(path, target):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        if not (root / path).is_symlink():
            (root / path).symlink_to(os.path.relpath(root / target, (root / path).parent))
    for number, hca in enumerate(hcas):
        function, netdev = f"devices/pci0000:50/0000:{0x10 + number:02x}:00.0", f"rail{number}"
        device, port = f"{function}/infiniband/{hca}", f"{function}/infiniband/{hca}/ports/1"
        file("bus/pci/drivers/mlx5_core/new_id", "")
        for path, text in {f"{function}/numa_node": "0", f"{function}/sriov_totalvfs": "16",
                           f"{device}/node_type": "1: CA", f"{device}/sys_image_guid": "b83f:d203:00b4:f5a2",
                           f"{device}/board_id": "MT_0000000223", f"{function}/net/{netdev}/dev_port": "0",
                           f"{port}/link_layer": "Ethernet", f"{port}/state": "4: ACTIVE",
                           f"{port}/rate": "200 Gb/sec (4X HDR)"}.items():
            file(path, text)
        for row in range(8):
            used = row == index
            file(f"{port}/gids/{row}", f"0000:0000:0000:0000:0000:{'ffff:190b:80' if used else '0000:0000:00'}"
                                       f"{number + 2 if used else 0:02x}")
            if used:
                file(f"{port}/gid_attrs/types/{row}", "RoCE v2")
                file(f"{port}/gid_attrs/ndevs/{row}", netdev)
        link(f"{device}/device", function)
        link(f"{function}/driver", "bus/pci/drivers/mlx5_core")
        link(f"class/infiniband/{hca}", device)
        link(f"class/net/{netdev}", f"{function}/net/{netdev}")


class Agent(Process):
    def __init__(self, program, plane, node, pod, directory, name):
        """For `node`, with the token of `pod`."""
        container = plane.api.get("DaemonSet", SPACES["agent"], "nccl-env-agent")["spec"]["template"]["spec"][
            "containers"][0]
        token = directory / f"{name}.token"
        token.write_text(plane.token("nccl-env-agent", SPACES["agent"], pod))
        kubeconfig = plane.write_kubeconfig(name, token_file=token)
        super().__init__(name, [program, *arguments(container, NODE_NAME=node), "--kubeconfig", kubeconfig, "--ops-listen",
                                "127.0.0.1:0", "--sysfs", directory / "sys", "--look", "1s"], directory / f"{name}.log")
        self.port = eventually(f"{name} listens", self.listening)

    def listening(self):
        for line in self.said().splitlines():
            if '"ops_port"' in line and line.startswith("{"):
                return json.loads(line)["ops_port"]
        self.expect_alive()
        return None

    def ready_code(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=PATIENCE) as reply:
                return reply.status
        except urllib.error.HTTPError as error:
            return error.code
