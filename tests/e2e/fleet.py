# SPDX-License-Identifier: Apache-2.0
"""Tables of a healthy fleet of three shapes, as agents of real clusters write them, and faults to plant in them."""
from objects import timestamp

ROCE, INFINIBAND, LAG = "roce", "ib", "lag"


def address(rail, node):
    return f"10.{rail}.{node // 250}.{node % 250 + 1}"


def rows(ip, netdev):
    """GID rows that mlx5 makes of one IPv4 address; the last row carries traffic."""
    return [f"0 RoCEv1 gid fe80::1 dev {netdev}", f"1 RoCEv2 gid fe80::1 dev {netdev}", f"2 RoCEv1 {ip} dev {netdev}",
            f"3 RoCEv2 {ip} dev {netdev}"]


def move_index(some, index):
    """Changes the index of the row that carries traffic."""
    some["gidRows"][-1] = f"{index} {some['gidRows'][-1].split(' ', 1)[1]}"


def port(hca, netdev, ip, **more):
    return {"hca": hca, "port": 1, "linkLayer": "Ethernet", "transport": "RoCE", "state": "Active",
            "stateSince": timestamp(7200), "rateGbps": 200, "activeMtu": 4096, "driver": "mlx5_core",
            "pfPciAddress": "", "lag": "", "boardId": "MT_0000000223", "gidRows": rows(ip, netdev), **more}


def netdev_of(name, ip, mtu=4200):
    return {"name": name, "addresses": [f"{ip}/16"], "mtu": mtu, "up": True, "master": ""}


def roce_node(number):
    """Eight rails, a /16 each, beside a management NIC of the same maker."""
    ports, interfaces = [], []
    for rail in range(1, 9):
        ip = address(rail, number)
        ports.append(port(f"mlx5_{rail}", f"eth{rail}", ip, pciAddress=f"0000:{0x10 + rail:02x}:00.0"))
        interfaces.append(netdev_of(f"eth{rail}", ip))
    ports.append(port("mlx5_0", "eth0", address(200, number), rateGbps=25, boardId="MT_0000000359", activeMtu=1024,
                      pciAddress="0000:01:00.0"))
    interfaces.append(netdev_of("eth0", address(200, number), 1500))
    return ports, interfaces, "eth0"


def infiniband_node(number):
    """Eight HCAs beside a storage NIC on Ethernet."""
    ports = [{"hca": f"mlx5_{rail}", "port": 1, "linkLayer": "InfiniBand", "transport": "InfiniBand",
              "state": "Active", "stateSince": timestamp(7200), "rateGbps": 400, "activeMtu": 4096,
              "driver": "mlx5_core", "pfPciAddress": "", "lag": "", "boardId": "MT_0000000838",
              "pciAddress": f"0000:{0x20 + rail:02x}:00.0",
              "gidRows": [f"0 IB gid fe80::b83f:d203:{number:x}:{rail:x}"]}
             for rail in range(8)]
    ports.append(port("mlx5_8", "eno8", address(208, number), rateGbps=100, boardId="MT_0000000359"))
    return ports, [netdev_of("eno8", address(208, number))], "eno1"


def lag_node(number):
    """Four bonds of two ports; the address is the bond's, and so is the row."""
    ports, interfaces = [], []
    for rail in range(4):
        ip = address(rail + 100, number)
        ports.append(port(f"mlx5_bond_{rail}", f"bond{rail}", ip, lag=f"bond{rail}", rateGbps=400,
                          pciAddress=f"0000:{0x30 + rail:02x}:00.0"))
        interfaces.append(netdev_of(f"bond{rail}", ip))
    return ports, interfaces, "eno1"


SHAPES = {ROCE: roce_node, INFINIBAND: infiniband_node, LAG: lag_node}


def node_table(name, shape, number):
    ports, interfaces, own = SHAPES[shape](number)
    return {"apiVersion": "nccl-env.io/v1alpha1", "kind": "NodeFabric", "metadata": {"name": name},
            "observed": {"time": timestamp(number % 70 * 60), "agentVersion": "e2e", "rdmaNamespaceMode": "shared",
                         "nodeInterface": own, "ports": ports, "interfaces": interfaces}}


def healthy_fleet(count):
    """Half RoCE, a third InfiniBand, the rest bonds: names and tables."""
    fleet = {}
    for number in range(count):
        shape = ROCE if number < count // 2 else INFINIBAND if number < count * 5 // 6 else LAG
        fleet[f"{shape}-{number:03}"] = node_table(f"{shape}-{number:03}", shape, number)
    return fleet


# Faults, mostly of the third port: each changes a table and says what the doctor has to name.
def port_down(observed):
    observed["ports"][2].update(state="Down", stateSince=timestamp(7200))


def rate_degraded(observed):
    observed["ports"][2]["rateGbps"] = 100


def mtu_differs(observed):
    observed["ports"][2]["activeMtu"] = 1024


def index_inside(observed):
    """An address that is not routed comes before the rail's own, and NCCL's search ends there."""
    move_index(observed["ports"][2], 5)
    observed["ports"][2]["gidRows"].insert(3, "3 RoCEv2 169.254.3.9 dev eth3")


def storage_first(observed):
    """A VLAN's address comes before the rail's own, and NCCL's search ends there."""
    own = rows(observed["interfaces"][2]["addresses"][0].split("/")[0], "eth3")[2:]
    observed["ports"][2]["gidRows"] = rows("172.31.3.31", "eth3.9") + [f"{i + 4} {row.split(' ', 1)[1]}"
                                                                       for i, row in enumerate(own)]
    observed["interfaces"].append(netdev_of("eth3.9", "172.31.3.31"))


def address_twice(observed):
    """Takes the address of the third rail of node 40."""
    observed["ports"][2]["gidRows"] = rows(address(3, 40), "eth3")
    observed["interfaces"][2] = netdev_of("eth3", address(3, 40))


def address_missing(observed):
    observed["ports"][2]["gidRows"] = observed["ports"][2]["gidRows"][:2]


def subnet_wrong(observed):
    observed["ports"][2]["gidRows"] = rows("172.16.3.17", "eth3")
    observed["interfaces"][2] = netdev_of("eth3", "172.16.3.17")


def vendors_mixed(observed):
    observed["ports"][2]["driver"] = "bnxt_re"
    del observed["ports"][2]["boardId"]


def table_stale(observed):
    observed["time"] = timestamp(5 * 3600)


def hca_missing(observed):
    del observed["ports"][2]


def bond_down(observed):
    observed["ports"][1].update(state="Down", stateSince=timestamp(7200))


# Node: the fault, the check that has to name it, and its HCA.
PLANTED = {
    "roce-003": (port_down, "PortDown", "mlx5_3"), "roce-010": (rate_degraded, "RateLow", "mlx5_3"),
    "roce-017": (mtu_differs, "MtuDiffers", "mlx5_3"), "roce-024": (index_inside, "GidIndexDiffers", "mlx5_3"),
    "roce-031": (storage_first, "SubnetDiffers", "mlx5_3"), "roce-038": (address_twice, "DuplicateAddress", "mlx5_3"),
    "roce-045": (address_missing, "NoAddress", "mlx5_3"), "roce-052": (subnet_wrong, "SubnetDiffers", "mlx5_3"),
    "roce-059": (vendors_mixed, "HardwareDiffers", "mlx5_3"), "roce-066": (table_stale, "StaleTable", ""),
    "ib-110": (hca_missing, "HcaMissing", "mlx5_2"), "lag-180": (bond_down, "PortDown", "mlx5_bond_1"),
}
# The other node of the two that have the same address.
ALSO_NAMED = {("DuplicateAddress", "roce-040", "mlx5_3")}
