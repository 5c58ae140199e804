# SPDX-License-Identifier: Apache-2.0
"""Whether a NodeFabric of the agent says what the kernel says."""
import ipaddress
import json

import kernel
from kernel import need


def interfaces(results, name):
    """netdev -> addresses with prefix, MAC, MTU, up, master; of the namespace in which `name` was taken."""
    return {entry["ifname"]: {
        "addresses": {f"{address['local']}/{address['prefixlen']}" for address in entry["addr_info"]},
        "mac": entry["address"], "mtu": entry["mtu"], "up": "UP" in entry["flags"], "master": entry.get("master", ""),
        "idle": "NO-CARRIER" in entry["flags"]}
        for entry in json.loads(results[f"{name}.addr.json"])}


def default_address(mac):
    """Link-local, of the MAC (RFC 4291): the kernel keeps its row whether or not the interface has the address."""
    octets = bytes.fromhex(mac.replace(":", ""))
    interface_id = bytes([octets[0] ^ 2]) + octets[1:3] + b"\xff\xfe" + octets[3:]
    return str(ipaddress.ip_address(bytes.fromhex("fe80000000000000") + interface_id))


def own_rows(port, netdevs):
    """Rows of the namespace: the netdev is one of ours *and* carries the address. InfiniBand rows have no netdev."""
    def own(row):
        if row.netdev is None:
            return port.link_layer == "InfiniBand"
        if row.netdev not in netdevs:
            return False
        addresses = {address.partition("/")[0] for address in netdevs[row.netdev]["addresses"]}
        return row.address in addresses or row.address == default_address(netdevs[row.netdev]["mac"])
    return [row for row in port.rows if own(row)]


def row_of(text):
    """The parts of a row, which a table has as one text."""
    words = text.split(" ")
    row = {"index": int(words.pop(0))}
    if words[0] in ("IB", "RoCEv1", "RoCEv2"):
        row["type"] = words.pop(0)
    if words[0] == "gid":
        words.pop(0)
    else:
        row["address"] = words[0]
    gid = words.pop(0)
    row["gid"] = ipaddress.IPv6Address(gid if ":" in gid else f"::ffff:{gid}").exploded
    return row | {{"dev": "netdev", "since": "indexSince"}[key]: value for key, value in zip(words[::2], words[1::2])}


def told_rows(port):
    """A row of the agent as one of the kernel's. The address may be absent only from a row that stands for none."""
    for row in port["gids"]:
        if "address" in row:
            need(ipaddress.ip_address(row["address"]) == ipaddress.ip_address(kernel.address_of(row["gid"])),
                 f"{port['hca']}: address and GID of {row} differ")
    return [kernel.Row(row["index"], row["gid"], row.get("type"), row.get("netdev")) for row in port["gids"]]


def difference(told, expected):
    extra, missing = [row for row in told if row not in expected], [row for row in expected if row not in told]
    return "; ".join(filter(None, (extra and f"the agent's alone: {extra}", missing and f"the kernel's alone: {missing}")))


def rates(port):
    """sysfs of 6.1 prints SDR also for speeds that it has no word for: then an absent rate is right, too."""
    return {float(port.rate_text.split()[0]), None if "SDR" in port.rate_text else ...}


def slow(slowness):
    """A remark beside figures, where they are not those of a machine that does nothing else."""
    return f" (guest {slowness:.1f} times slow)" if slowness > 1.5 else ""


def parsed(manifest):
    """`observed` of a published file, with the parts of rows: `gids`."""
    import yaml  # only where it is needed: the import takes an emulated guest half a second
    return with_row_parts(yaml.safe_load(manifest))


def printed(results, name):
    """The same for the output of `show -o json`."""
    return with_row_parts(json.loads(results[f"{name}.out"]))


def with_row_parts(table):
    for port in table["observed"]["ports"]:
        if "gidRows" in port:
            port["gids"] = [row_of(text) for text in port.pop("gidRows")]
    return table["observed"]


def same_as_kernel(observed, results, name="kernel", sysfs_only=False):
    """`observed` of a NodeFabric against what `name` recorded. Without verbs, the MTU of a port may be absent."""
    netdevs, expected = interfaces(results, name), kernel.ports(results, name)
    told = {(port["hca"], port["port"]): port for port in observed["ports"]}
    need(told.keys() == expected.keys(), f"the agent has the ports {sorted(told)}, the kernel {sorted(expected)}")
    for key, port in told.items():
        truth = expected[key]
        rows = own_rows(truth, netdevs)
        need(told_rows(port) == rows, f"{key}: {difference(told_rows(port), rows)}")
        facts = {"state": {truth.state}, "linkLayer": {truth.link_layer}, "rateGbps": rates(truth),
                 "activeMtu": {truth.mtu, None if sysfs_only else truth.mtu}, "gidTableLength": {truth.table_length},
                 "sysImageGuid": {truth.sys_image_guid}}
        pkeys = [(entry["index"], entry["key"]) for entry in port["pkeys"]] if "pkeys" in port else None
        need(pkeys == truth.pkeys, f"{key}: partitions {pkeys}, and the kernel's {truth.pkeys}")
        for field, values in facts.items():
            need(port.get(field) in values, f"{key}: {field} is {port.get(field)}, and the kernel's {values}")
    for entry in observed["interfaces"]:
        truth = netdevs.get(entry["name"])
        need(truth, f"the agent lists {entry['name']}, which is not here")
        for field, value in entry.items():
            if field != "name" and not (field == "up" and truth["idle"]):  # if no port has it, `up` says that it runs
                need((set(value) if field == "addresses" else value) == truth[field],
                     f"{entry['name']}: {field} is {value}, and the kernel's {truth[field]}")
