# SPDX-License-Identifier: Apache-2.0
"""What changes reaches the published table by events: the agent's own re-read is an hour away. So does a GID row that
the kernel writes after the agent has looked for its event. Bursts are few writes, a pod's interfaces none. With
devices, and without them and without any privilege."""
import json

import compare
from kernel import need

IMAGE = "stock"
WRITES = 4  # at most, for one change
# At most, from the end of the command that changes something to the table: one under way, one for the event, the three
# that follow it; the rest until they are counted.
LOOKS = 8
LATE = "192.168.70.1"


def guest():
    import guest as lab
    from published import Published
    lab.up("eth0", "192.168.0.5/24")
    lab.sh("ip link add dummy0 type dummy")  # virtio's carrier can't be taken away
    lab.up("dummy0", "192.168.30.5/24", "fd00:0:0:2::5/64")
    for hca, netdev in (("rxe0", "eth0"), ("rxe1", "dummy0")):
        lab.rxe(hca, netdev)
    lab.settle()
    for name, wrapper in (("verbs", ()), ("sysfs", lab.without_devices(*lab.AS_NOBODY))):
        run = Published(name, wrapper)
        for action, command in COMMANDS.items():
            run.act(action, command, RIGHT.get(action))
        run.act("late row", lambda run=run: add_late_row(run), RIGHT["late row"])
        run.act("del late row", f"ip addr del {LATE} dev eth0", RIGHT["del late row"])
        run.stop()
    lab.kernel("kernel")


def add_late_row(run):
    import guest as lab
    with lab.workers_held():
        lab.sh(f"ip addr add {LATE} dev eth0")
        run.make_look()
        lab.save(f"{run.name}.early", lab.sh("cat /sys/class/infiniband/rxe0/ports/1/gids/{?,??}"))


COMMANDS = {
    "settle": "true",
    "add IPv4": "ip addr add 192.168.50.1/24 dev eth0",
    "del IPv4": "ip addr del 192.168.50.1/24 dev eth0",
    "add IPv6": "ip addr add fd00:0:0:50::1/64 dev eth0 nodad",
    "del IPv6": "ip addr del fd00:0:0:50::1/64 dev eth0",
    "link down": "ip link set dummy0 down",
    "link up": "ip link set dummy0 up",
    "carrier lost": "ip link set dummy0 carrier off",
    "carrier back": "ip link set dummy0 carrier on",
    # By one process: twenty would take a slow guest many looks.
    "burst": "for n in $(seq 20); do echo addr add 192.168.60.$n/24 dev eth0; done | ip -batch -",
    "flush": "ip addr flush dev eth0 to 192.168.60.0/24",
    "settle again": "true",  # from here on no write is expected
    "pod appears": "ip netns add pod && ip link add podv type veth peer name eth0 netns pod && "
                   "ip link set podv up && ip -n pod addr add 10.0.0.9/24 dev eth0 && ip -n pod link set eth0 up && "
                   "ip link add link eth0 name net1 netns pod type macvlan mode bridge && "
                   "ip -n pod addr add 10.20.0.9/24 dev net1 && ip -n pod link set net1 up",
    "pod goes": "ip netns del pod"}


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
    "carrier lost": lambda table: port(table, "rxe1")["state"] == "Down",
    "carrier back": lambda table: port(table, "rxe1")["state"] == "Active",
    "burst": burst,
    "late row": lambda table: has(table, LATE),
    "del late row": lambda table: not has(table, LATE),
    "flush": lambda table: not any(has(table, f"192.168.60.{number}") for number in range(1, 21)),
}


def check_run(name, results):
    run = json.loads(results[f"{name}.json"])
    writes = [(write["time"], compare.parsed(write["text"])) for write in run["writes"]]
    need(run["code"] == 0, f"{name}: SIGTERM ended it with {run['code']}\n{results[f'{name}.err']}")
    compare.same_as_kernel(writes[-1][1], results, sysfs_only=name == "sysfs")
    need("ffff:c0a8:4601" not in results[f"{name}.early"],
         f"{name}: the kernel wrote the row that was to be late before the agent had looked")
    slowest = 0.0
    actions = run["actions"]
    for action, after in zip(actions, [*(following["begin"] for following in actions[1:]), float("inf")]):
        what = f"{name}: {action['name']}"
        during = [write for write in writes if action["begin"] <= write[0] < after]
        if action["name"] in RIGHT:
            right = next((time for time, table in during if RIGHT[action["name"]](table)), None)
            need(right is not None, f"{what}: never published; {len(during)} writes")
            slowest = max(slowest, right - action["end"])
            need(len(during) <= WRITES, f"{what}: {len(during)} writes")
            need(action["looks"] <= LOOKS, f"{what}: published by {action['looks']} looks")
        elif action["name"].startswith("pod"):
            need(not during, f"{what}: {len(during)} writes")
    slowness = max(action["slowness"] for action in actions)
    return f"{name}: at most {slowest:.2f} s{compare.slow(slowness)}, {len(writes)} writes"


def check(results, _programs):
    return "; ".join(check_run(name, results) for name in ("verbs", "sysfs"))
