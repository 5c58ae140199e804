# SPDX-License-Identifier: Apache-2.0
"""Facts of the guest's kernel on its devices, from sysfs and `ibv_devinfo -v`, in the form of a NodeFabric.
Written apart from the agent, as its oracle: nothing here may be taken from src/."""
import dataclasses
import ipaddress
import json
import re

STATES = {"1: DOWN": "Down", "2: INIT": "Init", "3: ARMED": "Armed", "4: ACTIVE": "Active"}


class Failed(Exception):
    pass


def need(condition, message):
    if not condition:
        raise Failed(message)


def groups(gid):
    """As sysfs writes a GID; ibv_devinfo shortens those that are not IPv4-mapped."""
    return ipaddress.ip_address(gid).exploded


def address_of(gid):
    address = ipaddress.ip_address(gid)
    return str(address.ipv4_mapped or address)


@dataclasses.dataclass(frozen=True)
class Row:
    index: int
    gid: str
    type: str
    netdev: str | None

    @property
    def address(self):
        return address_of(self.gid)


@dataclasses.dataclass
class Port:
    hca: str
    port: int
    state: str
    link_layer: str
    rate_text: str
    mtu: int
    table_length: int
    sys_image_guid: str
    rows: list  # by index, all of them: of every network namespace
    pkeys: list | None  # (index, key), those that are not empty; None: no InfiniBand, which alone has partitions
    parent: str | None


def devinfo(text):
    """hca -> {attributes, "ports": {number: {attributes, "GID": {index: (gid, type)}}}} of `ibv_devinfo -v`."""
    devices = {}
    for line in text.splitlines():
        name, _, value = (part.strip() for part in line.partition(":"))
        if name == "hca_id":
            device = port = devices[value] = {"ports": {}}
        elif name == "port":
            port = device["ports"][int(value)] = {"GID": {}}
        elif row := re.match(r"\s*GID\[\s*(\d+)\]:\s*(\S+?)(?:, (.*))?$", line):
            port["GID"][int(row[1])] = (groups(row[2]), row[3])
        elif value:
            port[name] = value
    return devices


def gid_type(sysfs, link_layer):
    """sysfs calls IB and RoCE v1 the same."""
    return "RoCEv2" if sysfs == "RoCE v2" else "IB" if link_layer == "InfiniBand" else "RoCEv1"


def ports(results, name):
    """All ports, by (hca, number). Fails where sysfs and verbs differ."""
    sysfs, verbs = json.loads(results[f"{name}.sysfs.json"]), devinfo(results[f"{name}.ibv_devinfo"])
    need(sysfs.keys() == verbs.keys(), f"sysfs lists {sorted(sysfs)}, ibv_devinfo {sorted(verbs)}")
    found = {}
    for hca, device in sysfs.items():
        for number, port in device["ports"].items():
            told = verbs[hca]["ports"][int(number)]
            layer = port["link_layer"]
            pkeys = sorted((int(index), key) for index, key in port["pkeys"].items() if int(key, 16) & 0x7FFF)
            rows = [Row(int(index), row["gid"], gid_type(row["type"], layer), row["ndev"])
                    for index, row in sorted(port["gids"].items(), key=lambda item: int(item[0]))]
            types = {"RoCEv2": "RoCE v2", "RoCEv1": "RoCE v1", "IB": None}
            said = {index: (gid, kind if layer == "Ethernet" else None) for index, (gid, kind) in told["GID"].items()}
            need({row.index: (row.gid, types[row.type]) for row in rows} == said,
                 f"{hca}: sysfs has the rows {rows}, ibv_devinfo {said}")
            found[hca, int(number)] = Port(
                hca, int(number), STATES[port["state"]], layer, port["rate"], int(told["active_mtu"].split()[0]),
                port["gidTableLength"], device["sys_image_guid"], rows,
                pkeys if layer == "InfiniBand" else None, device["parent"])
            need(told["link_layer"] == layer, f"{hca}: link layer {layer} and {told['link_layer']}")
            need(told["state"].upper().startswith("PORT_" + port["state"].split()[1]),
                 f"{hca}: state {port['state']} and {told['state']}")
    return found
