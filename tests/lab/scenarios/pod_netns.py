# SPDX-License-Identifier: Apache-2.0
"""Sub-interfaces in other network namespaces: their rows are not the node's, and `resolve` inside finds its own."""
import json
import subprocess

import compare
import kernel
import nccl
from kernel import need

IMAGE = "stock"
VERSIONS = [f"2.{minor}" for minor in range(18, 31)] + ["2.18.5", "2.21.5", "2.22.3", "2.26.2", "2.29.7", "2.30.7"]
# Pod -> its sub-interfaces: (HCA, parent, name inside, address inside)
PODS = {
    "one": [("rxe0", "eth0", "net1", "10.20.0.5/24")],
    # The name and the index that the host's own interface has on the host.
    "same-name": [("rxe0", "eth0", "eth0", "10.20.0.6/24")],
    "two-hcas": [("rxe0", "eth0", "net1", "10.20.0.7/24"), ("rxe1", "eth1", "net2", "10.21.0.7/24")],
    # The HCA's own interface has no IPv4 address, so NCCL's first choice is the pod's.
    "no-address-outside": [("rxe2", "eth2", "net1", "10.22.0.5/24")],
    "v6": [("rxe2", "eth2", "net1", "fd00:0:0:22::6/64")],
    # Comes last, with an address that pod "one" had before: another index.
    "restarted": [("rxe0", "eth0", "net1", "10.20.0.5/24")],
}


def policy(pod):
    hcas = sorted({hca for hca, *_ in PODS[pod]})
    return {"apiVersion": "nccl-env.io/v1alpha1", "kind": "NcclPolicy", "metadata": {"name": "lab"},
            "spec": {"match": {"resources": [{"name": "rdma/hca", "exposure": "SubInterface"}]}, "gidIndex": "Pin",
                     "fabric": {"hcas": hcas}}}


def guest():
    import guest as lab
    for number in range(3):
        lab.up(f"eth{number}", *([f"192.168.{number}.5/24"] if number < 2 else []))
        lab.rxe(f"rxe{number}", f"eth{number}")
    lab.settle()
    lab.agent("before", "show", "-o", "json")
    for pod, interfaces in PODS.items():
        if pod == "restarted":
            lab.sh("ip netns del one")
            lab.wait_for(lambda: "ffff:0a14:0005" not in json.dumps(lab.devices_in_sysfs(["rxe0"])))
            lab.sh("ip addr add 192.168.50.5/24 dev eth0")  # takes the row that the pod had
        lab.sh(f"ip netns add {pod}; ip -n {pod} link set lo up")
        for _, parent, name, address in interfaces:
            lab.sh(f"ip link add link {parent} name new netns {pod} type macvlan mode bridge && "
                   f"ip -n {pod} link set new name {name} up && ip -n {pod} addr add {address} dev {name}")
        inside = ["ip", "netns", "exec", pod]
        lab.wait_for(lambda: not lab.sh(f"ip -n {pod} -6 addr show tentative"))
        lab.kernel(pod, sorted({hca for hca, *_ in interfaces}), inside)
        lab.resolve(pod, policy(pod), lab.without_devices(*inside, *lab.AS_NOBODY))
    lab.kernel("kernel")
    for run, wrapper in (("verbs", ()), ("sysfs", lab.without_devices(*lab.AS_NOBODY))):
        lab.agent(run, "show", "-o", "json", wrapper=wrapper)


def conf(text):
    return dict(line.split("=", 1) for line in text.splitlines())


def select(ports, variables, programs, *options):
    """What `nccl-env nodes` says that NCCL takes of these ports."""
    table = {"apiVersion": "nccl-env.io/v1alpha1", "kind": "NodeFabric", "metadata": {"name": "pod"}, "observed": {"ports": [{
        "hca": port.hca, "port": port.port, "state": port.state, "linkLayer": port.link_layer,
        "gidTableLength": port.table_length,
        "gids": [{"index": row.index, "gid": row.gid, "type": row.type} for row in port.rows]} for port in ports]}}
    options = [*options, *(f"--env={name}={value}" for name, value in variables.items() if value)]
    ended = subprocess.run([programs / "nccl-env", "nodes", "pod", "-", "-o", "json", *options], input=json.dumps(table),
                           stdout=subprocess.PIPE, text=True, check=False)
    need(ended.returncode in (0, 1), f"nccl-env nodes: code {ended.returncode}")  # 1: the doctor found something
    return json.loads(ended.stdout)["ncclAlone"]


def nccl_takes(port, family, subnet, programs):
    """The GID index that NCCL takes of a table as the pod sees it: by tests/lab/nccl.py, and so by `nccl-env nodes`."""
    variables = {"NCCL_IB_ADDR_FAMILY": "AF_INET6" if family == 6 else "AF_INET", "NCCL_IB_ADDR_RANGE": subnet}
    answer = select([port], variables, programs)
    index = nccl.gid_index({row.index: row for row in port.rows}, port.table_length, family, subnet=subnet)
    said = answer["gidIndex"][f"{port.hca}:{port.port}"]
    need(said == index, f"nccl-env nodes says {said} of {port}, and not {index}; range {subnet}")
    return index


def check_pod(pod, results, programs):
    """`resolve` names the one row with the pod's address; NCCL by itself agrees, or takes a row that the pod can't use."""
    ports, wanted, remarks = kernel.ports(results, pod), {}, []
    need(f"{pod}.conf" in results, f"{pod}: resolve wrote no file: {results[f'{pod}.err']}")
    answer = conf(results[f"{pod}.conf"])
    for hca, _, name, address in PODS[pod]:
        address, family = address.partition("/")[0], 6 if ":" in address else 4
        rows = {row.index: row for row in ports[hca, 1].rows}
        wanted[hca] = [row.index for row in rows.values() if row.address == address and row.netdev == name]
        need(len(wanted[hca]) == 1, f"{pod}: {address} is not one row of {hca}: {rows}")
        alone = nccl_takes(ports[hca, 1], family, None, programs)
        ranged = nccl_takes(ports[hca, 1], family, f"{address}/{128 if family == 6 else 32}", programs)
        need(ranged == wanted[hca][0], f"{pod}: NCCL with the pod's range takes {ranged}, the pod's row is {wanted[hca]}")
        usable = rows[alone].address == address
        remarks.append(alone if usable else f"{alone} (not the pod's)")
    indexes = {index for found in wanted.values() for index in found}
    need(set(answer.get("NCCL_IB_HCA", "=").removeprefix("=").split(",")) == set(wanted),
         f"{pod}: NCCL_IB_HCA of {answer}\n{results[f'{pod}.out']}{results[f'{pod}.err']}")
    expected = str(indexes.pop()) if len(indexes) == 1 else None
    need(answer.get("NCCL_IB_GID_INDEX") == expected,
         f"{pod}: the pod's row is {expected}, and resolve says {answer}\n{results[f'{pod}.out']}{results[f'{pod}.err']}")
    return expected, remarks


def check_versions(pod, every_port, answer, index, programs):
    """With the file's lines, each NCCL takes the pod's ports out of all that sysfs shows, and the pinned index on each."""
    wanted = sorted({f"{hca}:1" for hca, *_ in PODS[pod]})
    for version in VERSIONS:
        chosen = select(every_port, answer, programs, f"--nccl-version={version}")
        need(sorted(chosen["hcas"]) == wanted, f"{pod}: NCCL {version} takes {chosen['hcas']} with {answer}")
        need(index is None or set(chosen["gidIndex"].values()) == {int(index)},
             f"{pod}: NCCL {version} takes the rows {chosen['gidIndex']} with {answer}")


def interface_index(results, name, netdev):
    return next(entry["ifindex"] for entry in json.loads(results[f"{name}.addr.json"]) if entry["ifname"] == netdev)


def check(results, programs):
    remarks = []
    need(interface_index(results, "same-name", "eth0") == interface_index(results, "kernel", "eth0"),
         "the pod's eth0 does not have the index of the host's")
    for run in ("before", "verbs", "sysfs"):
        need(results[f"{run}.code"] == "0", f"show: {results[f'{run}.err']}")
    for run in ("verbs", "sysfs"):
        observed = compare.printed(results, run)
        compare.same_as_kernel(observed, results, sysfs_only=run == "sysfs")
        hosts = {row["address"] for port in observed["ports"] for row in port["gids"] if "address" in row}
        pods = {address.partition("/")[0] for pod in PODS.values() for *_, address in pod}
        need(not hosts & pods, f"addresses of pods in the node's table: {hosts & pods}")
    answers = {}
    others = kernel.ports(results, "kernel")
    for pod in PODS:
        index, alone = answers[pod] = check_pod(pod, results, programs)
        every_port = {**others, **kernel.ports(results, pod)}.values()
        check_versions(pod, every_port, conf(results[f"{pod}.conf"]), index, programs)
        remarks.append(f"{pod} {index}, NCCL alone {'/'.join(map(str, alone))}")
    need(answers["one"][0] != answers["restarted"][0], f"a restart has not moved the pod's row: {answers}")
    return f"{len(VERSIONS)} NCCL versions alike; " + "; ".join(remarks)
