# SPDX-License-Identifier: Apache-2.0
"""The objects that scenarios make: tables, policies, pods, and what a kubelet would make of a pod."""
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from demo_cluster import expand, file_of, lines_of, resolve_env  # noqa: E402  # pylint: disable=wrong-import-position

from process import Failed

HCA, CONF = "NCCL_IB_HCA", "hostnetwork.nccl-env.io/nccl.conf"  # the text that Bindings bring under every policy
SPACES = {"webhook": "nccl-env", "agent": "nccl-env-agent"}  # namespaces of our programs
OURS = ("hostnetwork.nccl-env.io/", "host.nccl-env.io/", "subinterface.nccl-env.io/", "podowned.nccl-env.io/",
        "nccl-env.io/")


def timestamp(seconds_ago=0):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds_ago))


def table(node, hcas, index=3, seconds_ago=0):
    """A node with RoCE ports of these names whose usable GID row is `index` on each. Rows have their older form, which is
    still read; those of fleet.py have the newer one."""
    ports, interfaces = [], []
    for number, hca in enumerate(hcas):
        netdev, address = f"rail{number}", f"25.11.{number}.2"
        ports.append({
            "hca": hca, "port": 1, "linkLayer": "Ethernet", "transport": "RoCE", "state": "Active",
            "stateSince": timestamp(seconds_ago + 3600), "rateGbps": 200, "driver": "mlx5_core",
            "pciAddress": f"0000:{0x10 + number:02x}:00.0", "pfPciAddress": "", "lag": "", "boardId": "MT_0000000223",
            "gidTableLength": 256,
            "gids": [{"index": 0, "gid": f"fe80::{number + 1:x}", "type": "RoCEv1", "netdev": netdev},
                     {"index": index, "gid": f"::ffff:{address}", "type": "RoCEv2", "address": address,
                      "netdev": netdev}]})
        interfaces.append({"name": netdev, "addresses": [f"{address}/24"], "mtu": 4200, "up": True, "master": ""})
    interfaces.append({"name": "bond0", "addresses": ["10.0.0.1/24"], "mtu": 1500, "up": True, "master": ""})
    return {"apiVersion": "nccl-env.io/v1alpha1", "kind": "NodeFabric", "metadata": {"name": node},
            "observed": {"time": timestamp(seconds_ago), "agentVersion": "e2e", "rdmaNamespaceMode": "shared",
                         "nodeInterface": "bond0", "ports": ports, "interfaces": interfaces,
                         "summary": {"activePorts": len(hcas), "linkLayer": "Ethernet", "hcas": hca_list(hcas)}}}


def hca_list(hcas):
    return "=" + ",".join(hcas)


def policy(name, env=None, **spec):
    return {"apiVersion": "nccl-env.io/v1alpha1", "kind": "NcclPolicy", "metadata": {"name": name},
            "spec": {"match": {"resources": [{"name": "rdma/hca*", "exposure": "Host"}]}, "gidIndex": "Pin",
                     "env": {"NCCL_IB_TIMEOUT": "22"} if env is None else env, **spec}}


def pod_spec(rdma=True, node=None, env=None, **more):
    resources = {"limits": {"rdma/hca": "1"}} if rdma else {}
    return {"containers": [{"name": "train", "image": "example.com/train:1", "resources": resources,
                            "env": env or []}],
            "tolerations": [{"operator": "Exists"}],
            **({"nodeSelector": {"kubernetes.io/hostname": node}} if node else {}), **more}


def pod(namespace, name, labels=None, annotations=None, **spec):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": namespace, "name": name, "labels": labels or {},
                         "annotations": annotations or {}},
            "spec": pod_spec(**spec)}


def containers(some):
    """Of a pod by name, as they start."""
    return {one["name"]: one for one in [*some["spec"].get("initContainers", []), *some["spec"]["containers"]]}


def env_of(bound, container=0):
    """What NCCL finds set in the container of this name or number: its env, then the lines of its nccl.conf as a Binding
    brought them. What processes have is for tests/cluster."""
    some = containers(bound)[container] if isinstance(container, str) else bound["spec"]["containers"][container]
    return file_of(bound, some) | resolve_env(bound, some)


def reads_conf(container):
    """Our file stands where NCCL looks for one."""
    return {"name": "nccl-env-conf", "mountPath": "/etc/nccl.conf", "readOnly": True, "subPath": "nccl.conf"} in container.get(
        "volumeMounts", [])


def arguments(container, **known):
    """With $(NAME) in them expanded; `known`: values from fields of the pod, by name."""
    env = {entry["name"]: entry["value"] for entry in container.get("env", []) if "value" in entry} | known
    return [expand(argument, env) for argument in container["args"]]


def annotations_of(some):
    return some["metadata"].get("annotations", {})


def given(annotations, name=HCA):
    """The variable's value in the text of a Binding; None where it has none."""
    return lines_of(annotations.get(CONF, "")).get(name)


def ours(some):
    return {key: value for key, value in annotations_of(some).items() if key.startswith(OURS)}


def expect(what, found, wanted):
    if found != wanted:
        raise Failed(f"{what}: {found!r} instead of {wanted!r}")


def expect_in(what, text, *parts):
    for part in parts:
        if part not in text:
            raise Failed(f"{what}: no {part!r} in {text!r}")
