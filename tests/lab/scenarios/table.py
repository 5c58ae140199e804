# SPDX-License-Identifier: Apache-2.0
"""The agent's table is the kernel's, row by row; and so is that of an agent that may open no device."""
import compare
import kernel
from kernel import need

IMAGE = "stock"


def guest():
    import guest as lab
    lab.up("eth0", "192.168.0.5/24", "fd00:0:0:1::5/64")
    lab.up("eth1", "192.168.1.5/24", "192.168.101.5/24", "10.9.8.7/32", "fd00:0:0:2::5/64")
    lab.sh("ip link add link eth0 name eth0.7 type vlan id 7")
    lab.up("eth0.7", "192.168.7.5/24")
    lab.sh("ip link add bond0 type bond mode active-backup")
    for slave in ("dummy0", "dummy1"):
        lab.sh(f"ip link add {slave} type dummy; ip link set {slave} master bond0")
    lab.up("bond0", "192.168.20.5/24", "fd00:0:0:20::5/64")
    lab.sh("ip link add veth0 mtu 9000 type veth peer name peer0")
    lab.up("veth0", "192.168.30.5/24")  # its peer is down: no carrier
    lab.sh("ip route add default via 192.168.0.1 dev eth0")
    for number, netdev in enumerate(("eth0", "eth1", "eth2", "bond0", "veth0")):
        lab.rxe(f"rxe{number}", netdev)
    lab.sh("ip link set eth2 down")
    lab.sh("ip addr del 192.168.101.5/24 dev eth1")  # leaves a hole
    lab.settle()
    lab.kernel("kernel")
    lab.agent("verbs", "show", "-o", "json")
    lab.agent("text", "show")
    lab.agent("sysfs", "show", "-o", "json", wrapper=lab.without_devices(*lab.AS_NOBODY))


def check(results, _programs):
    ports = kernel.ports(results, "kernel")
    need([port.state for port in ports.values()].count("Down") == 2, "a port without link and a disabled one are Down")
    need(any(row.netdev == "eth0.7" for row in ports["rxe0", 1].rows), "the VLAN's rows are in its parent's table")
    for run in ("verbs", "sysfs"):
        need(results[f"{run}.code"] == "0", f"show: exit {results[f'{run}.code']}: {results[f'{run}.err']}")
        observed = compare.printed(results, run)
        compare.same_as_kernel(observed, results, sysfs_only=run == "sysfs")
        need(observed["nodeInterface"] == "eth0", f"the node interface is {observed['nodeInterface']}")
    rows = [row for port in ports.values() for row in compare.own_rows(port, compare.interfaces(results, "kernel"))]
    lines = results["text.out"].splitlines()
    for row in rows:
        need(any(str(row.index) in line.split() and row.gid in line for line in lines),
             f"no line of `show` has {row}")
    return f"{len(ports)} ports, {len(rows)} rows"
