# SPDX-License-Identifier: Apache-2.0
"""What is asked: interfaces of nodes and pods, environments, files, and the lines of logs that are looked for."""

NODE, OTHER = ["10.1.1.2/24"], ["10.2.2.2/24"]

# Interfaces in the order of their indexes, which is that of getifaddrs.
LAYOUTS = {
    "a pod": {"eth0": NODE},
    "two rails": {"eth0": NODE, "eth1": OTHER},
    "docker first": {"docker0": ["172.17.0.1/16"], "eth0": NODE},
    "a bridge of CNI first": {"docker0": ["172.17.0.1/16"], "cni0": ["10.42.0.1/24"], "eth0": NODE},
    "virbr first": {"virbr0": ["192.168.122.1/24"], "eth0": NODE},
    "IPoIB last": {"eth0": NODE, "ib0": OTHER},
    "loopback alone": {},
    "nothing": {"lo": None},
    "docker and loopback": {"docker0": ["172.17.0.1/16"]},
    "virbr and docker": {"virbr0": ["192.168.122.1/24"], "docker0": ["172.17.0.1/16"]},
    "no carrier": {"eth0!": NODE, "eth1": OTHER},
    "no address": {"eth0": [], "eth1": OTHER},
    "IPv6 first": {"eth0": ["fd00:1::2/64"], "eth1": OTHER},
    "IPv6 alone": {"eth0": ["fd00:1::2/64"], "eth1": ["fd00:2::2/64"]},
    "both families": {"eth0": NODE + ["fd00:1::2/64"], "eth1": OTHER},
    "link-local": {"eth0": ["fe80::2/64"], "eth1": ["fd00:2::2/64"]},
    "a prefix of another": {"eth10": NODE, "eth1": OTHER},
}
THREE = {"eth0": NODE, "eth1": OTHER, "eth2": ["10.3.3.2/24"]}

ENVIRONMENTS = [
    {},
    *({"NCCL_SOCKET_IFNAME": value} for value in (
        "", "e", "=", "^", "eth", "eth1", "=eth1", "=eth1,=eth0", "eth1,eth0", "eth0, eth1", " eth0", "^eth0",
        "^docker0", "^=eth0", "=^eth0", "^lo,docker", ",", "=,", "^^", "eth1:7", "ETH0", "absent", "lo",
        "=eth0,absent")),
    {"NCCL_SOCKET_FAMILY": "AF_INET"},
    {"NCCL_SOCKET_FAMILY": "AF_INET6"},
    {"NCCL_SOCKET_FAMILY": "af_inet6"},
    {"NCCL_SOCKET_IFNAME": "eth", "NCCL_SOCKET_FAMILY": "AF_INET6"},
]

OLD, NEW = "2.21.5", "2.32.3"


def line(value):
    return f"NCCL_SOCKET_IFNAME={value}\n"


# "then": the value that counts; "" for none.
FILES = [
    {"etc": line("=eth1"), "then": "=eth1"},
    {"etc": line("=eth1"), "env": {"NCCL_SOCKET_IFNAME": "=eth2"}, "then": "=eth2"},
    {"etc": line("=eth1"), "env": {"NCCL_SOCKET_IFNAME": ""}, "then": ""},  # empty is not unset
    {"etc": line("=eth1") + line("=eth2"), "then": "=eth1"},
    {"etc": "# a comment\n\n" + line("=eth1"), "then": "=eth1"},
    {"etc": "  " + line("=eth1"), "then": ""},
    {"etc": "NCCL_SOCKET_IFNAME = =eth1\n", "then": ""},
    {"etc": "export " + line("=eth1"), "then": ""},
    {"etc": line('"eth1"'), "then": '"eth1"'},
    {"etc": line("=eth1 # why"), "then": "=eth1 # why"},
    {"etc": line("=eth1\r"), "then": {OLD: "=eth1\r", NEW: "=eth1"}},
    {"etc": line("=eth1").rstrip("\n"), "then": "=eth1"},
    {"etc": line("=eth1"), "home": line("=eth2"), "then": "=eth2"},
    {"home": line("=eth2"), "then": "=eth2"},
    {"etc": line("=eth1"), "named": line("=eth2"), "then": {OLD: "=eth1", NEW: "=eth2"}},
    {"home": line("=eth1"), "named": line("=eth2"), "then": {OLD: "=eth1", NEW: "=eth2"}},
    {"etc": line("=eth1"), "named": "", "then": "=eth1"},
    {"home": line("=eth1"), "absent": True, "then": {OLD: "=eth1", NEW: ""}},
    {"etc": line("=eth2"), "home": line("=eth1"), "absent": True, "then": {OLD: "=eth1", NEW: "=eth2"}},
]

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {
    "hostNetwork": True, "nodeName": "here",
    "containers": [{"name": "c", "image": "i", "resources": {"limits": {"rdma/hca": "1"}}}]}}


def policy(interface):
    return {"apiVersion": "nccl-env.io/v1alpha1", "kind": "NcclPolicy", "metadata": {"name": "p"}, "spec": {
        "match": {"resources": [{"name": "rdma/hca"}]}, "socketInterface": interface}}


# A pod that was given =eth1.
GIVEN = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": {
    "nccl-env.io/status": '{"v":1,"policy":"p","generation":1,"exposure":"Host","containers":'
                          '{"c":{"set":{"NCCL_SOCKET_IFNAME":"File"}}}}',
    "nccl-env.io/node": '{"v":1,"node":"here","policy":"p","generation":1}',
    "hostnetwork.nccl-env.io/nccl.conf": "NCCL_SOCKET_IFNAME==eth1\n"}},
    "spec": {"nodeName": "here", "hostNetwork": True, "containers": [{"name": "c", "image": "i", "volumeMounts": [
        {"name": "nccl-env-conf", "mountPath": "/etc/nccl.conf", "subPath": "nccl.conf", "readOnly": True}]}],
        "volumes": [{"name": "nccl-env-conf", "downwardAPI": {"items": [{"path": "nccl.conf", "fieldRef": {
            "fieldPath": "metadata.annotations['hostnetwork.nccl-env.io/nccl.conf']"}}]}}]}}

# Texts of the newest library that verify reads, and that only hardware would bring out.
LINES = [
    "%s set by environment to %lld.", "NCCL_SOCKET_IFNAME set to %s", "NCCL_IB_HCA set to %s",
    "Bootstrap: Using%s", "NCCL version ", "comm %p rank %d nRanks %d nNodes %d",
    "NET/IB : Using%s %s; OOB %s:%s", "NET/IB : No device found.", "Using network %s", " via NET/%s/%d",
    "Port %d qp_num %d mtu %d GID %ld", "Call to ibv_modify_qp failed with %d %s, %s, retrying %d/%d",
    "Call to ibv_modify_qp failed with %d %s, %s", "Got completion from peer %s with status=%s(%d) opcode=",
    "GID table changed on %s:%d", "NET/IB : Unable to open device %s", "read failed in ncclIbRoceGetVersionNum: %s",
    "Attempted to connect incompatible devices: [%d]%s:%d/%s", "Bootstrap : no socket interface found",
    "NET/IB : No IP interface found.", "-> %d [Progress Thread]", "-> %d [Async thread]",
]
