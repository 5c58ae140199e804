# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks feed the webhook: reviews made from the recorded ones, a policy that sets ten variables,
and tables of nodes with eight RoCE ports."""
import copy
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESOURCE = "rdma/hca"
NODE = "node-00000"
POD_REVIEW_BYTES = 12_000  # a GPU pod's review is 8-20 KB

# The Go peer in peers/go gives the same ones.
CONSTANTS = {"NCCL_DEBUG": "WARN", "NCCL_IB_PCI_RELAXED_ORDERING": "1", "NCCL_IB_QPS_PER_CONNECTION": "8",
             "NCCL_IB_RETRY_CNT": "7", "NCCL_IB_TC": "106", "NCCL_IB_TIMEOUT": "22"}


def recorded(name):
    return json.loads((ROOT / "tests/data/admission" / name).read_text())


def pod_review():
    """A recorded Job's pod with the env, the labels and the sidecar of a training job; managedFields names
    every field, as the API server writes it."""
    review = recorded("pod-create-job-indexed.json")
    pod = review["request"]["object"]
    main = pod["spec"]["containers"][0]
    fields = pod["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:containers"]
    sidecar = copy.deepcopy(main)
    sidecar.update(name="metrics", resources={"limits": {"cpu": "1"}, "requests": {"cpu": "1"}})
    pod["spec"]["containers"].append(sidecar)
    fields['k:{"name":"metrics"}'] = copy.deepcopy(fields['k:{"name":"c"}'])
    number = 0
    while len(json.dumps(review, separators=(",", ":"))) < POD_REVIEW_BYTES:
        name = f"TRAINER_OPTION_{number:02}"
        main["env"].append({"name": name, "value": f"/data/shard-{number:05}.tar"})
        fields['k:{"name":"c"}']["f:env"]['k:{"name":"%s"}' % name] = {".": {}, "f:name": {}, "f:value": {}}
        number += 1
    return review


def binding_review():
    review = recorded("binding-job-indexed.json")
    review["request"]["object"]["target"]["name"] = NODE
    return review


def policy(name="bench"):
    return {
        "apiVersion": "nccl-env.io/v1alpha1", "kind": "NcclPolicy", "metadata": {"name": name},
        "spec": {"gidIndex": "Pin",  # so that the index is there to be looked for
                 "match": {"resources": [{"name": RESOURCE, "exposure": "Host"}]},
                 "fabric": {"hcas": ["mlx5_[1-8]"], "expectPorts": 8},
                 "socketInterface": "eth0", "env": CONSTANTS}}


def namespace(name="ml"):
    return {"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "labels": {"nccl-env.io/policy": "bench"}}}


def address_of(node, number):
    return f"25.{11 + number}.{node // 250}.{1 + node % 250}"


def port(node, number):
    address = address_of(node, number)
    local = f"fe80::ba3f:d2ff:fe{number:02x}:{node % 65536:x}"
    netdev = f"eth{number}"
    rows = [f"0 RoCEv1 gid {local} dev {netdev}", f"1 RoCEv2 gid {local} dev {netdev}",
            f"2 RoCEv1 {address} dev {netdev}", f"3 RoCEv2 {address} dev {netdev}"]
    return {"hca": f"mlx5_{number}", "port": 1, "linkLayer": "Ethernet", "transport": "RoCE", "state": "Active",
            "stateSince": "2026-01-01T00:00:00Z", "rateGbps": 200, "activeMtu": 4096, "driver": "mlx5_core",
            "pciAddress": f"0000:{0x50 + number:02x}:00.0", "numaNode": number // 5, "boardId": "MT_0000000223",
            "sysImageGuid": f"b83f:d203:00{number:02x}:{node % 65536:04x}", "gidTableLength": 256, "gidRows": rows}


def table(number):
    """No time: it is never stale."""
    ports = [port(number, i) for i in range(1, 9)]
    interfaces = [{"name": f"eth{i}", "addresses": [address_of(number, i) + "/27"], "mtu": 4200,
                   "up": True} for i in range(1, 9)]
    interfaces.append({"name": "eth0", "addresses": [f"10.0.{number // 250}.{1 + number % 250}/16"], "mtu": 1500,
                       "up": True})
    return {"apiVersion": "nccl-env.io/v1alpha1", "kind": "NodeFabric",
            "metadata": {"name": f"node-{number:05}"},
            "observed": {"agentVersion": "0.1.0", "rdmaNamespaceMode": "shared", "nodeInterface": "eth0",
                         "ports": ports, "interfaces": interfaces}}


def shaped(number, ports, rows):
    """table() with so many ports, each of so many rows; every name, GID and address its own."""
    made = table(number)
    made["observed"]["ports"] = [port(number, i) for i in range(1, ports + 1)]
    for each in made["observed"]["ports"]:
        rail = each["hca"][5:]
        rows_of_v6 = [f"{4 + i} RoCEv2 gid 2001:db8:{number:x}::{rail}:{i + 1:x} dev eth{rail}"
                      for i in range(max(0, rows - 4))]
        each["gidRows"] = (each["gidRows"] + rows_of_v6)[:rows]
    return made


def write_json(path, value):
    path.write_text(json.dumps(value, separators=(",", ":")))


def write_store(directory, tables):
    directory.mkdir(parents=True, exist_ok=True)
    write_json(directory / "policy.json", policy())
    write_json(directory / "namespace.json", namespace())
    for number in range(tables):
        write_json(directory / f"node-{number:05}.json", table(number))
    return directory


def main():
    """inputs.py DIRECTORY: writes pod.json, binding.json, table-PORTSxROWS.json, and the store's manifests, for
    decision_bench."""
    directory = write_store(pathlib.Path(sys.argv[1]), 1)
    write_json(directory / "pod.json", pod_review())
    write_json(directory / "binding.json", binding_review())
    for ports, rows in ((2, 2), (8, 4), (16, 16)):
        write_json(directory / f"table-{ports}x{rows}.json", shaped(0, ports, rows))


if __name__ == "__main__":
    main()
