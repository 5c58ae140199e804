# SPDX-License-Identifier: Apache-2.0
"""Edited modules: RoCE v1 and v2 rows in pairs, an InfiniBand port and its partitions, interfaces with DCB, and a device
that goes and comes back."""
import json

import compare
import decision
import kernel
from kernel import need

IMAGE = "edited"
COMMANDS = {"remove rxe1": "rdma link del rxe1",
            "add rxe1": "rdma link add rxe1 type rxe netdev eth1",
            "remove both": "rdma link del rxe1 && rdma link del rxe0"}
HCAS = ({"rxe0", "ib0"}, {"rxe0", "rxe1", "ib0"}, {"ib0"})  # after each
POLICY = {"apiVersion": "nccl-env.io/v1alpha1", "kind": "NcclPolicy", "metadata": {"name": "lab"},
          "spec": {"match": {"resources": [{"name": "rdma/hca", "exposure": "Host"}]}, "gidIndex": "Pin",
                   "fabric": {"hcas": ["rxe*"]}}}

# A policy's partition, and what a pod on the node reads: variable and value, or the reason why not.
PARTITIONS = (({"hcas": ["ib*"]}, {"partitionKey": "0x8001"}, ("NCCL_IB_PKEY", "2")),
              ({"hcas": ["ib*"]}, {"partitionKey": "0x7fff"}, ("NCCL_IB_PKEY", "0")),
              ({"hcas": ["ib*"]}, {"partitionKey": "0x8002"}, ("NCCL_IB_PKEY", "PKeyNotUniform")),
              ({"hcas": ["rxe*"]}, {"partitionKey": "0x8001"}, ("NCCL_IB_PKEY", "OmittedByPolicy")),
              ({"hcas": ["ib*"], "linkLayer": "InfiniBand"},
               {"partitionKey": "0x8002", "nccl": {"minVersion": "2.31.2"}}, ("NCCL_IB_PKEY_VALUE", "32770")))


def names(table):
    return {port["hca"] for port in table["ports"]}


def guest():
    import guest as lab
    from published import Published
    lab.up("eth0", "192.168.0.5/24", "fd00:0:0:1::5/64")
    lab.up("eth1", "192.168.1.5/24", "fd00:0:0:2::5/64")
    lab.up("eth2")
    lab.sh("dcb pfc set dev eth0 prio-pfc all:off 3:on 5:on && dcb app add dev eth0 dscp-prio 26:3 48:6 && "
           "dcb app add dev eth1 ethtype-prio 35093:3")
    lab.rxe("rxe0", "eth0")
    lab.rxe("rxe1", "eth1")
    lab.sh("rdma link add ib0 type siwib netdev eth2")
    lab.settle()
    lab.kernel("kernel")
    lab.save("sysfs.txt", lab.captured())
    lab.agent("verbs", "show", "-o", "json")
    lab.agent("sysfs", "show", "-o", "json", wrapper=lab.without_devices(*lab.AS_NOBODY))
    lab.resolve("resolve", POLICY, lab.without_devices(*lab.AS_NOBODY))
    for number, (fabric, spec, _) in enumerate(PARTITIONS):
        lab.resolve(f"partition{number}", decision.policy({"fabric": fabric, **spec}))
    run = Published("run")
    for (name, command), hcas in zip(COMMANDS.items(), HCAS):
        # Held open between looks, a device would hold the command until the agent closes it.
        lab.wait_for(lambda: not run.open_devices(), otherwise=lambda: f"{name}: held open: {run.open_devices()}")
        run.act(name, command, lambda table, hcas=hcas: names(table) == hcas)
    run.stop()


def check_tables(results):
    ports = kernel.ports(results, "kernel")
    rows = ports["rxe0", 1].rows
    need([row.type for row in rows] == ["RoCEv1", "RoCEv2"] * 3, f"rxe0 has no pairs of RoCE v1 and v2: {rows}")
    need(rows[3].address == "192.168.0.5", f"index 3 is not the IPv4 address over RoCE v2: {rows}")
    for run in ("verbs", "sysfs"):
        observed = compare.printed(results, run)
        compare.same_as_kernel(observed, results, sysfs_only=run == "sysfs")
        ib0 = next(port for port in observed["ports"] if port["hca"] == "ib0")
        told = {port["hca"]: (port.get("losslessPriorities"), port.get("dscpPriorities")) for port in observed["ports"]}
        dscps = "".join({26: "3", 48: "6"}.get(number, "-") for number in range(64))
        need(told == {"rxe0": ("35", dscps), "rxe1": ("35", ""), "ib0": (None, None)}, f"{run}: priorities {told}")
        need((ib0["linkLayer"], ib0["transport"], ib0["rateGbps"]) == ("InfiniBand", "InfiniBand", 400), f"{run}: {ib0}")
    need(results["resolve.conf"] == "NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==rxe0,rxe1\n",
         f"resolve wrote {results['resolve.conf']!r}: {results['resolve.out']}{results['resolve.err']}")


def check_partitions(results, programs):
    """By the webhook, of the published table, and by `resolve`, of what it sees."""
    run = json.loads(results["run.json"])
    table = run["writes"][0]["text"]
    at = decision.later(decision.moment(compare.parsed(table)["time"]))
    for number, (fabric, spec, (name, wanted)) in enumerate(PARTITIONS):
        pod = decision.Decision(programs, {"fabric": fabric, **spec}, table, at).pod()
        given = decision.values(pod).get(name) or decision.reasons(pod).get(name)
        need(given == wanted, f"{fabric}, {spec}: the webhook says {given}, and not {wanted}")
        need(wanted.isdigit() or name not in decision.values(pod), f"{spec}: {decision.values(pod)}")
        conf, said = results[f"partition{number}.conf"], results[f"partition{number}.out"]
        need((f"{name}={wanted}\n" if wanted.isdigit() else wanted) in conf + said, f"{spec}: resolve: {conf}\n{said}")


def check(results, programs):
    check_tables(results)
    check_partitions(results, programs)
    run = json.loads(results["run.json"])
    need(run["code"] == 0, f"the agent ended with {run['code']}\n{results['run.err']}")
    remarks = []
    for action, hcas in zip(run["actions"], HCAS):
        right = next((write["time"] for write in run["writes"] if write["time"] >= action["begin"] and
                      names(compare.parsed(write["text"])) == hcas), None)
        need(right, f"{action['name']}: never published\n{results['run.err']}")
        remarks.append(f"{action['name']} {max(0.0, right - action['end']):.2f} s{compare.slow(action['slowness'])}")
    return ", ".join(remarks)
