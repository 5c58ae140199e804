# SPDX-License-Identifier: Apache-2.0
"""Fleets of RoCE nodes as manifests: healthy ones, and the faults that the page has to show."""
import json

NOW = "2026-11-20T08:00:00Z"


def rows(address, netdev):
    """What mlx5 makes of one address."""
    local = {"gid": "fe80::b83f:d203:b4:f5a2", "netdev": netdev}
    mapped = {"gid": f"::ffff:{address}", "address": address, "netdev": netdev}
    return [{"index": 0, "type": "RoCEv1", **local}, {"index": 1, "type": "RoCEv2", **local},
            {"index": 2, "type": "RoCEv1", **mapped}, {"index": 3, "type": "RoCEv2", **mapped}]


def node(number, name=None, rails=8, rate=200):
    """`rails` ports of the fabric, a /16 each, beside a management port."""
    ports, interfaces = [], []
    for rail in range(rails + 1):
        fabric = rail > 0
        netdev, address = f"eth{rail}", f"10.{rail if fabric else 200}.{number // 250}.{number % 250 + 1}"
        ports.append({
            "hca": f"mlx5_{rail}", "port": 1, "linkLayer": "Ethernet", "transport": "RoCE", "state": "Active",
            "stateSince": "2026-11-01T00:00:00Z", "rateGbps": rate if fabric else 25,
            "activeMtu": 4096 if fabric else 1024, "driver": "mlx5_core",
            "pciAddress": f"0000:{0x10 + rail:02x}:00.0", "pfPciAddress": "", "lag": "",
            "numaNode": rail * 2 // (rails + 1),
            "boardId": "MT_0000000223" if fabric else "MT_0000000359", "sysImageGuid": "b83f:d203:00b4:f5a2",
            "gidTableLength": 256, "gids": rows(address, netdev)})
        interfaces.append({"name": netdev, "addresses": [f"{address}/16"], "mtu": 4200 if fabric else 1500,
                           "up": True, "master": ""})
    return {"apiVersion": "nccl-env.io/v1alpha1", "kind": "NodeFabric",
            "metadata": {"name": name or f"gpu-{number}"},
            "observed": {"time": f"2026-11-20T07:{number % 58:02d}:30Z", "agentVersion": "0.1.0",
                         "rdmaNamespaceMode": "shared", "nodeInterface": "eth0", "ports": ports,
                         "interfaces": interfaces}}


def fleet(count, rails=8):
    return [node(number, rails=rails) for number in range(count)]


def down(table, rail, state="Down", since="2026-11-20T05:12:00Z"):
    table["observed"]["ports"][rail].update(state=state, stateSince=since)


def lose_address(table, rail):
    port = table["observed"]["ports"][rail]
    port["gids"] = port["gids"][:2]
    table["observed"]["interfaces"][rail]["addresses"] = []


def move_index(table, rail):
    """Puts an address before the rail's own, at which NCCL's search ends, and which is not routed."""
    port = table["observed"]["ports"][rail]
    own = [{**row, "index": row["index"] + 2} for row in port["gids"][2:]]
    port["gids"] = port["gids"][:2] + rows("169.254.6.9", f"eth{rail}")[2:] + own


def swap(table, left, right):
    gids, addresses = table["observed"]["ports"], table["observed"]["interfaces"]
    for items, key, name in ((gids, "gids", "netdev"), (addresses, "addresses", None)):
        items[left][key], items[right][key] = items[right][key], items[left][key]
        for rail in (left, right):
            for row in items[rail][key] if name else []:
                row[name] = f"eth{rail}"


def plant(nodes):
    """Twelve nodes of a fleet get a fault each: their names, and the check that names it."""
    faults = {
        17: ("PortDown", lambda t: down(t, 3)), 140: ("PortDown", lambda t: down(t, 7, "Init")),
        333: ("HcaMissing", lambda t: t["observed"]["ports"].pop(5)),
        512: ("NoAddress", lambda t: lose_address(t, 2)),
        701: ("MtuDiffers", lambda t: t["observed"]["ports"][4].update(activeMtu=1024)),
        808: ("GidIndexDiffers", lambda t: move_index(t, 6)),
        999: ("SubnetDiffers", lambda t: swap(t, 1, 2)),
        1024: ("RateLow", lambda t: t["observed"]["ports"][3].update(rateGbps=100)),
        1200: ("RateLow", lambda t: t["observed"]["ports"][8].update(rateGbps=50)),
        1404: ("StaleTable", lambda t: t["observed"].update(time="2026-11-20T01:00:00Z")),
        1666: ("HcasDiffer", lambda t: t["observed"]["ports"][8].update(hca="mlx5_9")),
        1999: ("HardwareDiffers", lambda t: t["observed"]["ports"][2].update(boardId="MT_0000000838")),
    }
    for number, (_, fault) in faults.items():
        fault(nodes[number])
    return {nodes[number]["metadata"]["name"]: check for number, (check, _) in faults.items()}


LONG_NAME = "ip-10-0-141-207.eu-central-1.compute.internal-behind-a-long-domain"
HOSTILE_BOARD = "<script>alert(1)</script>"


def mixed():
    """Three pools: 200 and 400 Gb/s, InfiniBand. A node with all rails down, some with one rail down, a long name."""
    nodes = fleet(30)
    for rail in range(1, 9):
        down(nodes[3], rail)
    for number in (17, 20, 21):
        down(nodes[number], 3)
    nodes[25]["metadata"]["name"] = LONG_NAME
    nodes[26]["observed"]["ports"][2]["boardId"] = HOSTILE_BOARD
    for number in range(6):
        nodes.append(node(100 + number, name=f"fast-{number}", rails=4, rate=400))
        for port in nodes[-1]["observed"]["ports"][1:]:
            port.update(hca=port["hca"].replace("mlx5_", "ibp") + "s0", boardId="MT_0000000838")
    for number in range(4):
        nodes.append(node(200 + number, name=f"ib-{number}", rate=400))
        for rail, port in enumerate(nodes[-1]["observed"]["ports"][1:]):
            port.update(linkLayer="InfiniBand", transport="InfiniBand",
                        gids=[{"index": 0, "gid": f"fe80::b83f:{number:x}:{rail:x}:1", "type": "IB"}])
    return nodes


def write(folder, nodes):
    """A store's directory takes files of 8 MiB at most."""
    folder.mkdir(parents=True, exist_ok=True)
    for begin in range(0, len(nodes), 200):
        text = "\n---\n".join(json.dumps(table) for table in nodes[begin:begin + 200])
        (folder / f"nodes-{begin:05d}.yaml").write_text(text)
    return folder
