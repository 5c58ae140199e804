# SPDX-License-Identifier: Apache-2.0
"""What an operator installs: images, manifests, a policy, a namespace. The agent reads a recorded /sys in place of the
machine's, which has no RDMA devices."""
import json
import shutil

from agents import write_sys
from image import BUSYBOX_IMAGE, write_image
from node import NAME
from process import Failed, eventually
from session import HCAS, SOURCE, SPACES

POLICY = SOURCE / "tests/cluster/policy.yaml"
# The overlay's agent, with the recorded /sys where the image looks for it.
RECORDED = """apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../default]
images:
- {{name: nccl-env-webhook, newTag: {tag}}}
- {{name: nccl-env-agent, newTag: {tag}}}
patches:
- target: {{kind: DaemonSet, name: nccl-env-agent}}
  patch: |
    - {{op: add, path: /spec/template/spec/containers/0/args/-, value: --sysfs=/recorded}}
    - op: add
      path: /spec/template/spec/containers/0/volumeMounts/-
      value: {{name: recorded, mountPath: /recorded, readOnly: true}}
    - op: add
      path: /spec/template/spec/volumes/-
      value: {{name: recorded, hostPath: {{path: {recorded}, type: Directory}}}}
"""


def archives(state):
    """Those of our images, and of busybox."""
    found = [SOURCE / f"build/image/nccl-env-{image}.oci.tar" for image in ("webhook", "agent")]
    for archive in found:
        if not archive.exists():
            raise Failed(f"there is no {archive}: make image")
    busybox = state / "busybox.tar"
    if not busybox.exists():
        write_image(busybox, BUSYBOX_IMAGE)
    return [*found, busybox]


def write_overlay(source, state, name, tag="0.1.0"):
    """The default overlay of a checkout, with the recorded /sys and images of this tag; its folder."""
    manifests = state / name
    shutil.copytree(source / "manifests", manifests)
    overlay = manifests / "overlays/recorded"
    overlay.mkdir()
    (overlay / "kustomization.yaml").write_text(RECORDED.format(recorded=state / "sys", tag=tag))
    return overlay


class Installation:
    """`cluster`: what kubectl is asked by."""

    def __init__(self, cluster, state):
        self.cluster, self.state = cluster, state

    def install(self):
        write_sys(self.state / "sys", HCAS, 3)
        self.offer_devices()
        write_overlay(SOURCE, self.state, "manifests")
        self.apply()
        eventually("the policy is taken", lambda: self.cluster.kubectl("apply", "-f", POLICY, check=False)[0] == 0)
        eventually("the policy is accepted", self.is_accepted)
        self.cluster.kubectl("apply", "-f", "-", stdin=json.dumps({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "ml", "labels": {"nccl-env.io/policy": "rails"}}}))
        eventually("the node has a table with all its HCAs", self.has_table)

    def apply(self):
        self.cluster.kubectl("apply", "-k", self.state / "manifests/overlays/recorded")
        self.wait_for("deployment/nccl-env-webhook", "daemonset/nccl-env-agent")

    def offer_devices(self):
        """In place of a device plugin."""
        amounts = {"capacity": dict.fromkeys(("rdma/hca", "aliyun/erdma", "nvidia.com/gpu"), "1000")}
        self.cluster.kubectl("patch", "node", NAME, "--subresource=status", "--type=merge", "-p", json.dumps({"status": amounts}))

    def wait_for(self, *workloads):
        for workload in workloads:
            space = ("-n", SPACES[workload.split("-")[-1]])
            try:
                self.cluster.kubectl(*space, "rollout", "status", "--timeout=120s", workload)
            except Failed as failed:
                raise Failed(f"{failed}\n{self.cluster.kubectl(*space, 'get', 'events')}") from failed

    def is_accepted(self):
        policy = json.loads(self.cluster.kubectl("get", "ncclpolicy", "rails", "-o", "json"))
        return any(one["type"] == "Accepted" and one["status"] == "True"
                   for one in policy.get("status", {}).get("conditions", []))

    def has_table(self):
        code, said = self.cluster.kubectl("get", "nodefabric", NAME, "-o", "json", check=False)
        ports = json.loads(said).get("observed", {}).get("ports", []) if code == 0 else []
        return [port["hca"] for port in ports] == HCAS
