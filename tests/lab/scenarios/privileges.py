# SPDX-License-Identifier: Apache-2.0
"""What the agent needs for what: device files, capabilities, the host's network, /sys. tests/lab/README.md has the table."""
import json

import compare
from kernel import need

IMAGE = "stock"


def guest():
    import guest as lab
    for number in range(2):
        lab.up(f"eth{number}", f"192.168.{number}.5/24", f"fd00:0:0:{number}::5/64")
        lab.rxe(f"rxe{number}", f"eth{number}")
    lab.sh("ip route add default via 192.168.0.1 dev eth0")
    lab.settle()
    lab.kernel("kernel")
    lab.sh("ip netns add other && ip -n other link set lo up")
    no_sys = ["unshare", "-m", "/bin/bash", "-c", 'mount -t tmpfs none /sys && exec "$@"', "sh"]
    for name, wrapper in {
            "root": (),
            "nobody": lab.AS_NOBODY,
            "no-devices": lab.without_devices(*lab.AS_NOBODY),
            "no-sys": (*no_sys, *lab.AS_NOBODY),
            "other-netns": ("ip", "netns", "exec", "other", *lab.AS_NOBODY),
            "other-netns-host-sys": ("nsenter", "--net=/run/netns/other", *lab.AS_NOBODY)}.items():
        lab.agent(name, "show", "-o", "json", wrapper=wrapper)
    lab.sh("chmod 600 /dev/infiniband/uverbs*")
    lab.agent("closed-devices", "show", "-o", "json", wrapper=lab.AS_NOBODY)
    lab.sh("ip netns del other")
    lab.wait_for(lambda: not lab.sh("rdma system set netns exclusive 2>/dev/null || echo busy"))
    lab.agent("exclusive", "show", "-o", "json", wrapper=lab.AS_NOBODY)


def same_but_for(name, reference, told, fields=()):
    def cut(observed):
        ports = [{key: value for key, value in port.items() if key not in fields} for port in observed["ports"]]
        return {**{key: value for key, value in observed.items() if key != "time"}, "ports": ports}
    need(cut(told) == cut(reference), f"{name}: {json.dumps(cut(told))}\nand not {json.dumps(cut(reference))}")


def check(results, _programs):
    seen = {name: compare.printed(results, name) for name in (
        "root", "nobody", "no-devices", "closed-devices", "other-netns", "other-netns-host-sys", "exclusive")}
    compare.same_as_kernel(seen["root"], results)
    same_but_for("without privilege", seen["root"], seen["nobody"])
    same_but_for("devices that may not be opened", seen["no-devices"], seen["closed-devices"])
    compare.same_as_kernel(seen["no-devices"], results, sysfs_only=True)
    for name in ("other-netns", "other-netns-host-sys"):
        need(seen[name]["ports"] and not any(port["gids"] for port in seen[name]["ports"]),
             f"{name}: rows of the host's network: {seen[name]['ports']}")
    need(results["no-sys.code"] == "3", f"without /sys: exit {results['no-sys.code']}")
    need(seen["root"]["rdmaNamespaceMode"] == "shared", "the mode is not shared")
    need(seen["exclusive"]["rdmaNamespaceMode"] == "exclusive", "the mode is not exclusive")
    lost = sorted(seen["root"]["ports"][0].keys() - seen["no-devices"]["ports"][0].keys())
    return f"no privilege changes nothing; without devices only {', '.join(lost) or 'nothing'} is unknown"
