# SPDX-License-Identifier: Apache-2.0
"""A machine's description (tests/data/machines), and the copy of sysfs that it tells. Nothing is made up: what the
description does not tell is absent, as a file that the kernel does not have."""
import ipaddress
import pathlib
import shlex

STATES = {"down": "1: DOWN", "init": "2: INIT", "active": "4: ACTIVE"}
LINKS = {"ib": "InfiniBand", "eth": "Ethernet", "unspecified": "Unknown"}
# The kernel's words for the numbers that ibstat prints without them.
RATES = {"10": "4X SDR", "25": "1X EDR", "40": "4X QDR", "50": "2X EDR", "56": "4X FDR", "100": "4X EDR", "200": "4X HDR",
         "400": "4X NDR"}
ROWS = {"v1": "IB/RoCE v1", "v2": "RoCE v2"}
NOTES = ("machine", "source", "read", "because", "note")


class Machine:
    def __init__(self, path):
        self.name = path.stem
        self.notes, self.hcas, self.rows, self.nets, self.expected, self.node = {}, [], [], {}, {}, None
        card = {}
        for number, line in enumerate(path.read_text().splitlines(), 1):
            word, _, rest = line.partition(" ")
            if not word or word.startswith("#"):
                continue
            if word in NOTES:
                self.notes.setdefault(word, []).append(rest)
                continue
            words = shlex.split(rest)
            facts = dict(fact.split("=", 1) for fact in words if "=" in fact and word != "expect")
            others = [fact for fact in words if "=" not in fact or word == "expect"]
            if word == "card":
                card = facts
            elif word == "hca":
                self.hcas.append({"port": "1", **card, **facts, "name": others[0]})
            elif word == "rows":
                self.rows.append({**facts, "hca": others[0], "netdev": others[1], "addresses": others[2:]})
            elif word == "net":
                self.nets[others[0]] = facts
            elif word == "node":
                self.node = others[0]
            elif word == "expect":
                self.expected[others[0]] = " ".join(others[1:])
            else:
                raise ValueError(f"{path.name}:{number}: unknown word {word}")

    def by_plugin(self):
        """Whether NCCL reaches all HCAs through a plugin alone, which needs none of the variables: AWS EFA."""
        return all(hca.get("driver") == "efa" for hca in self.hcas)


class Tree:
    def __init__(self, root):
        self.root = pathlib.Path(root)

    def file(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(f"{text}\n")

    def folder(self, path):
        (self.root / path).mkdir(parents=True, exist_ok=True)

    def link(self, path, target):
        self.folder(pathlib.PurePath(path).parent)
        self.folder(target)
        if not (self.root / path).is_symlink():
            ups = "../" * (len(pathlib.PurePath(path).parts) - 1)
            (self.root / path).symlink_to(ups + target)


def write_hca(tree, hca):
    name, number = hca["name"], int(hca["port"])
    soft = "parent" in hca
    function = f"devices/pci{hca['pci'][:7]}/{hca['pci']}" if "pci" in hca else f"devices/untold/{name}"
    device = f"devices/virtual/infiniband/{name}" if soft else f"{function}/infiniband/{name}"
    tree.link(f"class/infiniband/{name}", device)
    tree.file(f"{device}/node_type", hca.get("type", "1: CA"))
    for attribute, key in (("board_id", "board"), ("sys_image_guid", "image"), ("parent", "parent"), ("node_desc", "desc")):
        if key in hca:
            tree.file(f"{device}/{attribute}", hca[key])
    if not soft:
        tree.link(f"{device}/device", function)
        if "driver" in hca:
            tree.link(f"{function}/driver", f"bus/pci/drivers/{hca['driver']}")
        if "numa" in hca:
            tree.file(f"{function}/numa_node", hca["numa"])
        if "pf" in hca:
            tree.link(f"{function}/physfn", f"devices/pci{hca['pf'][:7]}/{hca['pf']}")
        if "totalvfs" in hca:
            tree.file(f"{function}/sriov_totalvfs", hca["totalvfs"])
        if "net" in hca:
            tree.file(f"{function}/net/{hca['net']}/dev_port", number - 1)
            tree.link(f"class/net/{hca['net']}", f"{function}/net/{hca['net']}")
    port = f"{device}/ports/{number}"
    tree.folder(port)
    if "link" in hca:
        tree.file(f"{port}/link_layer", LINKS[hca["link"]])
    if "state" in hca:
        tree.file(f"{port}/state", STATES[hca["state"]])
    if "rate" in hca:
        number, _, words = hca["rate"].partition("/")
        tree.file(f"{port}/rate", f"{number} Gb/sec ({words.replace('_', ' ') or RATES[number]})")
    return port


def gid_of(address):
    parsed = ipaddress.ip_address(address)
    if parsed.version == 4:
        parsed = ipaddress.ip_address(f"::ffff:{address}")
    return parsed.exploded


def write_rows(tree, rows, port):
    """Each address has a row of each told type; `from`: its first index. A listing leaves out zero rows alone, so those
    between are zero; the last told row ends the table, unless its length is told."""
    index = int(rows.get("from", 0))
    types = rows.get("types", "v1,v2").split(",")
    last = index + len(types) * len(rows["addresses"])
    for empty in range(int(rows.get("table", last))):
        tree.file(f"{port}/gids/{empty}", gid_of("::"))
    for address in rows["addresses"]:
        for kind in types:
            tree.file(f"{port}/gids/{index}", address if address == "masked" else gid_of(address))
            if address != "masked":  # by who posted it: there is a row, no more is told
                tree.file(f"{port}/gid_attrs/types/{index}", ROWS[kind])
                tree.file(f"{port}/gid_attrs/ndevs/{index}", rows["netdev"])
            index += 1


def write_nets(tree, nets):
    for index, (name, net) in enumerate(sorted(nets.items()), 2):
        base = f"class/net/{name}"
        if not (tree.root / base).exists():
            tree.link(base, f"devices/virtual/net/{name}")
        tree.file(f"{base}/ifindex", index)
        if "state" in net:
            tree.file(f"{base}/operstate", net["state"])
        if "speed" in net:
            tree.file(f"{base}/speed", net["speed"])
        if net.get("kind") == "bond":
            tree.folder(f"{base}/bonding")
    for name, net in nets.items():
        if "master" in net:
            target = (tree.root / "class/net" / net["master"]).resolve().relative_to(tree.root.resolve())
            path = (tree.root / "class/net" / name).resolve().relative_to(tree.root.resolve())
            tree.link(f"{path}/master", str(target))


def build(machine, root):
    tree = Tree(root)
    tree.folder("class")
    ports = {}
    for hca in machine.hcas:
        ports[hca["name"]] = write_hca(tree, hca)
    for rows in machine.rows:
        write_rows(tree, rows, ports[rows["hca"]])
    nets = {hca["net"]: {} for hca in machine.hcas if "net" in hca} | machine.nets
    write_nets(tree, nets)
