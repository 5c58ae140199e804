# SPDX-License-Identifier: Apache-2.0
"""reviews.py DIRECTORY [COUNT]: writes policies, nodes and COUNT reviews for `replies`, the same ones each time: recorded
ones with what users write added and taken away, by a seed, and hostile ones, which a careless reader would cut in a wrong
place. To compare two builds: `replies DIRECTORY` of each, and cmp."""
import copy
import json
import pathlib
import random
import sys

import yaml

import inputs

NAMES = ["NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_DEBUG", "NCCL_SOCKET_IFNAME", "NCCL_IB_DISABLE", "NCCL_NET",
         "NCCL_CONF_FILE", "nccl_debug", "NCLL_DEBUG", "UCX_NET_DEVICES", "UCX_TLS", "NVSHMEM_HCA_LIST", "NVSHMEM_HCA_PREFIX",
         "GLOO_SOCKET_IFNAME", "MC_GID_INDEX", "TP_SOCKET_IFNAME", "TP_SIZE", "RCCL_MSCCL_ENABLE", "VLLM_NIC_SELECTION_VARS",
         "NCCL_IB_TC", "NCCL_IB_TIMEOUT", "NCCL_IB_ADDR_FAMILY", "RANK", "PATH", "", "N", "NC", "UCX_", "nCcL_IB_HCA", "MYVAR",
         "NCCL_IB_HCA ", "NVIDIA_VISIBLE_DEVICES", "NODE_NAME", "OMPI_MCA_btl", "Nccl", "GLOO", "MC_", "VLLM_X", "FI_PROVIDER"]
VALUES = ["", "1", "mlx5_0", "=mlx5_1:1,mlx5_2:1", "eth0", "IB", "Socket", "INFO", "a\"b\\c\n\t", "é\u2028", "$(RANK)", "3", "-1",
          "x" * 40, "\u0001", "UCX_NET_DEVICES", "mlx5_[", "22", "TRACE"]
COMMANDS = [["python", "train.py"], ["mpirun", "-x", "NCCL_IB_HCA=mlx5_0", "a"], ["bash", "-c", "export NCCL_DEBUG=INFO; x"],
            ["/usr/sbin/sshd", "-D"], ["ray", "start"], ["deepspeed", "t.py"], ["sh", "-c", "ib-device mlx5_3"], ["horovodrun"]]
MOUNTS = ["/etc", "/etc/nccl.conf", "/root/.nccl.conf", "/data", "/dev/infiniband", "/dev/shm", "/", "etc/../etc/./", "/var/run"]
ANNOTATIONS = [("nccl-env.io/inject", "true"), ("nccl-env.io/inject", "false"), ("nccl-env.io/inject", "maybe"),
               ("nccl-env.io/resolve", "Binding"), ("nccl-env.io/resolve", "x"), ("nccl-env.io/status", "{}"),
               ("nccl-env.io/status", '{"v":1,"policy":"bench","containers":{"c":{"set":{"NCCL_DEBUG":"Policy"}}}}'),
               ("k8s.v1.cni.cncf.io/networks", "rail-0,rail-1"), ("k8s.v1.cni.cncf.io/networks", "[{"), ("host.nccl-env.io/NCCL_IB_HCA", "x"),
               ("kubernetes.io/config.mirror", "x"), ("a/b~c", "\"quoted\"\n")]
RESOURCES = ["rdma/hca", "rdma/hca_shared_devices_a", "nvidia.com/gpu", "vpc.amazonaws.com/efa", "mellanox.com/cx6", "cpu", "memory",
             "aliyun/erdma", "baidu.com/rdma", "google.com/x", "tke.cloud.tencent.com/eni-rdma", "deviceclass.resource.kubernetes.io/mrdma.google.com"]


def entry(rng):
    made = {"name": rng.choice(NAMES), "value": rng.choice(VALUES)}
    kind = rng.random()
    if kind < 0.08:
        made = {"name": made["name"], "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}
    elif kind < 0.1:
        made = {"name": made["name"], "valueFrom": {}}
    elif kind < 0.12:
        made = {"name": made["name"], "valueFrom": {"fileKeyRef": {
            "volumeName": "nccl-env-conf", "path": "env", "key": made["name"], "optional": True}}}
    elif kind < 0.14:
        made["value"] = None
    return made


def spoil_container(rng, container):
    if rng.random() < 0.1:
        container.pop("env", None)
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2, 4])):
        container.setdefault("env", []).insert(rng.randrange(len(container["env"]) + 1), entry(rng))
    if rng.random() < 0.12:
        container["envFrom"] = [{"prefix": rng.choice(["", "NCCL_", "NCCL_IB_HCA", "X_"]), "configMapRef": {"name": "x"}}]
    if rng.random() < 0.2:
        container[rng.choice(["command", "args"])] = rng.choice(COMMANDS)
    if rng.random() < 0.15:
        container.pop("volumeMounts", None)
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        container.setdefault("volumeMounts", []).append(
            {"name": rng.choice(["v", "nccl-env-conf", "shm"]), "mountPath": rng.choice(MOUNTS), "readOnly": True,
             "subPath": rng.choice(["nccl.conf", "x"])})
    resources = container.setdefault("resources", {})
    for _ in range(rng.choice([0, 1, 1, 2])):
        resources.setdefault("limits", {})[rng.choice(RESOURCES)] = rng.choice(["1", "8", "0", 2, "64Gi"])
    if rng.random() < 0.15:
        container["securityContext"] = {"privileged": rng.random() < 0.5, "capabilities": {"add": ["IPC_LOCK"]}}
    if rng.random() < 0.05:
        container["resources"]["claims"] = [{"name": "c"}]


def spoil_pod(rng, review):
    pod = review["request"]["object"]
    metadata, spec = pod["metadata"], pod["spec"]
    if rng.random() < 0.4:
        metadata.setdefault("labels", {}).update([rng.choice(ANNOTATIONS[:5])])
    for _ in range(rng.choice([0, 0, 1, 2])):
        metadata.setdefault("annotations", {}).update([rng.choice(ANNOTATIONS)])
    if rng.random() < 0.1:
        metadata.pop("managedFields", None)
    if rng.random() < 0.02:
        pod.pop("metadata")
    if rng.random() < 0.15:
        spec["hostNetwork"] = True
    if rng.random() < 0.1:
        spec["nodeName"] = rng.choice([inputs.NODE, "node-none"])
    if rng.random() < 0.05:
        spec["runtimeClassName"] = rng.choice(["kata", "nvidia"])
    if rng.random() < 0.1:
        spec.pop("volumes", None)
    if rng.random() < 0.05:
        spec["resourceClaims"] = [{"name": "c", "resourceClaimName": "d"}]
    if rng.random() < 0.1:
        spec.setdefault("volumes", []).append({"name": "shm", "emptyDir": {"medium": "Memory"}})
    if rng.random() < 0.1:
        spec.setdefault("volumes", []).append({"name": "v", "hostPath": {"path": "/dev/infiniband"}})
    if rng.random() < 0.05:
        spec.setdefault("volumes", []).append({"name": "nccl-env-conf", "emptyDir": {}})
    if rng.random() < 0.2:
        init = copy.deepcopy(rng.choice(spec["containers"]))
        init["name"] = rng.choice(["init", "nccl-env-resolve"])
        spec["initContainers"] = [init]
    for container in spec["containers"] + spec.get("initContainers", []):
        spoil_container(rng, container)


def spoil_binding(rng, review):
    binding = review["request"]["object"]
    binding["target"]["name"] = rng.choice([inputs.NODE] * 4 + ["node-none", "node-00001"])
    if rng.random() < 0.3:
        binding.setdefault("metadata", {})["annotations"] = dict(
            [rng.choice([("host.nccl-env.io/NCCL_IB_HCA", "x"), ("nccl-env.io/node", "{}"), ("other", "y")])])
    if rng.random() < 0.05:
        binding.pop("metadata", None)
    if rng.random() < 0.1:
        review["request"]["dryRun"] = True


def made_reviews(rng, count):
    recorded = [inputs.recorded(path.name) for path in sorted((inputs.ROOT / "tests/data/admission").glob("*.json"))
                if not path.name.startswith("pod-after")]
    recorded += [inputs.pod_review(), inputs.binding_review()]
    for _ in range(count):
        review = copy.deepcopy(rng.choice(recorded))
        review["request"]["namespace"] = "ml"
        pod = "spec" in review["request"]["object"]
        (spoil_pod if pod else spoil_binding)(rng, review)
        yield json.dumps(review, ensure_ascii=rng.random() < 0.5,
                         **({"indent": 1} if rng.random() < 0.05 else {"separators": (",", ":")}))


def hostile_reviews():
    """Places of "managedFields" other than the API server's, and texts that are not JSON around it."""
    base = inputs.pod_review()
    base["request"]["namespace"] = "ml"
    text = json.dumps(base, separators=(",", ":"))
    begin, end = '"managedFields":[', ']},"spec":{'
    at = text.index(begin) + len(begin)
    to = text.index(end, at)
    inside = text[at:to]
    long = '{"a":"' + "x" * 600 + '"}'
    yield from (
        text[:at] + long + text[to:],
        text[:at] + "[" + long + "]" + text[to:],
        text[:at] + '{"a":[1,2],"b":"' + "x" * 600 + '"}' + text[to:],
        text[:at] + '{"a":[' + long + text[to:],
        text[:at] + '{"a":"' + "x" * 600 + r'\"]},\"spec\":{' + '"}' + text[to:],
        text[:at] + '{"a":"' + "x" * 600 + ']},"spec":{' + text[to:],
        text[:at] + long + "]" + text[to:],
        text[:at] + inside + "}" + text[to:],
        text[:at] + inside + text[to + 1:],
        text[:at] + inside, text[:to + 5], text[:to + len(end)],
        text[:at] + long + ',{"managedFields":[' + long + "]}" + text[to:],
        text[:at] + long + '],"managedFields":[' + long + text[to:],
        text[:at] + long + ']},"spec":{"managedFields":[' + long + "]}," + text[to + 3:],
        text.replace("managedFields", r"managed\u0046ields", 1),
        text.replace('"managedFields"', r'"x\"managedFields"', 1),
        text.replace(begin, r'"labels":{"x":"\"managedFields\":["},"managedFields":[', 1),
        text.replace(begin, '"annotations":{"managedFields":[' + long + ']},"spec":{},"managedFields":[', 1),
        text.replace(begin, '"labels":{"managedFields":[' + long + end + '}},"managedFields":[', 1),
        text.replace('"managedFields":[', '"managedFields": [', 1),
        text.replace('"spec":{', '"spec":{"managedFields":[' + long + ']},"spec":{', 1),
        text.replace('"request":{', '"request":{"managedFields":[' + long + ']},"spec":{},"request":{', 1),
        text.replace('"value":"/data', '"value":"\\"managedFields\\":[' + "y" * 600 + ']},\\"spec\\":{', 1),
        text.replace('"object":{', '"managedFields":[' + long + '],"object":{', 1),
        json.dumps(dict(base, managedFields=[{"x": "y" * 600}]), separators=(",", ":")),
    )


def policies():
    for path in sorted((inputs.ROOT / "policies").glob("*.yaml")):
        yield from (each for each in yaml.safe_load_all(path.read_text()) if each)
    for change in ({}, {"engines": ["NCCL", "UCX", "NVSHMEM", "Gloo"]}, {"mode": "DryRun"}, {"onUnresolved": "Deny"},
                   {"delivery": ["EnvFile"]}, {"delivery": ["EnvFile"], "engines": ["NCCL", "UCX", "NVSHMEM", "Gloo"]},
                   {"hca": "=mlx5_1"}, {"gidIndex": 3}, {"gidIndex": "Dynamic"},
                   {"match": {"resources": [{"name": "rdma/*"}, {"name": "mellanox.com/*"}], "hostDevices": True,
                              "networks": [{"name": "*/rail-*", "exposure": "SubInterface"}]}, "containers": "All"},
                   {"match": {"resources": [{"name": "*", "exposure": "SubInterface"}]}, "nccl": {"minVersion": "2.28"}},
                   {"variants": [{"when": {"nodeLabels": {"zone": "a*"}}, "env": {"NCCL_IB_TC": "96"},
                                  "fabric": {"hcas": ["mlx5_[0-3]"]}, "socketInterface": "eth9"}]}):
        policy = inputs.policy()
        policy["spec"].update(change)
        yield policy


def main():
    folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    for part in ("policies", "nodes", "reviews"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for number, policy in enumerate(policies()):
        inputs.write_json(folder / "policies" / f"{number:02}.json", policy)
    for number in range(2):
        inputs.write_json(folder / "nodes" / f"{number}.json", inputs.table(number))
    inputs.write_json(folder / "bound.json", inputs.pod_review()["request"]["object"])
    rng = random.Random(1)
    for number, review in enumerate([*hostile_reviews(), *made_reviews(rng, count)]):
        (folder / "reviews" / f"{number:04}.json").write_text(review)


if __name__ == "__main__":
    main()
