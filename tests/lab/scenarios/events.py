# SPDX-License-Identifier: Apache-2.0
"""What changes reaches the published table within 2 s, by events: the agent's own re-read is an hour away. Bursts are
few writes, a pod's interfaces none. With devices, and without them and without any privilege."""
import json

import compare
from kernel import need

IMAGE = "stock"
LIMIT_SECONDS = 2.0  # from the end of the command that changes something to the file
BURST_WRITES = 4  # at most, for 20 addresses within a second or two


def guest():
    import guest as lab
    from published import Published
    lab.up("eth0", "192.168.0.5/24")
    lab.up("eth1", "192.168.1.5/24", "fd00:0:0:2::5/64")
    lab.sh("ip link add dummy0 type dummy")
    lab.up("dummy0", "192.168.30.5/24")
    for hca, netdev in (("rxe0", "eth0"), ("rxe1", "eth1"), ("rxe2", "dummy0")):
        lab.rxe(hca, netdev)
    lab.settle()
    for name, wrapper in (("verbs", ()), ("sysfs", lab.without_devices(*lab.AS_NOBODY))):
        run = Published(name, wrapper)
        run.act("settle", "true")
        run.act("add IPv4", "ip addr add 192.168.50.1/24 dev eth0")
        run.act("del IPv4", "ip addr del 192.168.50.1/24 dev eth0")
        run.act("add IPv6", "ip addr add fd00:0:0:50::1/64 dev eth0 nodad")
        run.act("del IPv6", "ip addr del fd00:0:0:50::1/64 dev eth0")
        run.act("link down", "ip link set eth1 down")
        run.act("link up", "ip link set eth1 up")
        run.act("carrier lost", "ip link set dummy0 carrier off")
        run.act("carrier back", "ip link set dummy0 carrier on")
        run.act("burst", "for n in $(seq 20); do ip addr add 192.168.60.$n/24 dev eth0; done")
        run.act("flush", "ip addr flush dev eth0 to 192.168.60.0/24")
        run.act("pod appears", "ip netns add pod && ip link add podv type veth peer name eth0 netns pod && "
                "ip link set podv up && ip -n pod addr add 10.0.0.9/24 dev eth0 && ip -n pod link set eth0 up && "
                "ip link add link eth0 name net1 netns pod type macvlan mode bridge && "
                "ip -n pod addr add 10.20.0.9/24 dev net1 && ip -n pod link set net1 up")
        run.act("pod goes", "ip netns del pod")
        run.stop()
    lab.kernel("kernel")


def port(observed, hca):
    return next(port for port in observed["ports"] if port["hca"] == hca)


def has(observed, address):
    return any(row.get("address") == address for row in port(observed, "rxe0")["gids"])


def burst(observed):
    return all(has(observed, f"192.168.60.{number}") for number in range(1, 21))


RIGHT = {
    "add IPv4": lambda table: has(table, "192.168.50.1"),
    "del IPv4": lambda table: not has(table, "192.168.50.1"),
    "add IPv6": lambda table: has(table, "fd00:0:0:50::1"),
    "del IPv6": lambda table: not has(table, "fd00:0:0:50::1"),
    "link down": lambda table: port(table, "rxe1")["state"] == "Down",
    "link up": lambda table: port(table, "rxe1")["state"] == "Active",
    "carrier lost": lambda table: port(table, "rxe2")["state"] == "Down",
    "carrier back": lambda table: port(table, "rxe2")["state"] == "Active",
    "burst": burst,
    "flush": lambda table: not any(has(table, f"192.168.60.{number}") for number in range(1, 21)),
}


def check_run(name, results):
    run = json.loads(results[f"{name}.json"])
    writes = [(write["time"], compare.parsed(write["text"])) for write in run["writes"]]
    need(run["code"] == 0, f"{name}: SIGTERM ended it with {run['code']}\n{results[f'{name}.err']}")
    compare.same_as_kernel(writes[-1][1], results, sysfs_only=name == "sysfs")
    slowest = 0.0
    actions = run["actions"]
    for action, after in zip(actions, [*(following["begin"] for following in actions[1:]), float("inf")]):
        what = f"{name}: {action['name']}"
        during = [write for write in writes if action["begin"] <= write[0] < after]
        if action["name"] in RIGHT:
            right = next((time for time, table in during if RIGHT[action["name"]](table)), None)
            need(right is not None, f"{what}: never published; {len(during)} writes")
            seconds = max(0.0, right - action["end"])
            need(seconds <= LIMIT_SECONDS * action["slowness"],
                 f"{what}: published after {seconds:.2f} s, by a guest {action['slowness']:.1f} times slow")
            slowest = max(slowest, seconds)
            need(len(during) <= BURST_WRITES, f"{what}: {len(during)} writes")
        elif action["name"].startswith("pod"):
            need(not during, f"{what}: {len(during)} writes")
    slowness = max(action["slowness"] for action in actions)
    return f"{name}: at most {slowest:.2f} s{compare.slow(slowness)}, {len(writes)} writes"


def check(results, _programs):
    return "; ".join(check_run(name, results) for name in ("verbs", "sysfs"))
