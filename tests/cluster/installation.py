# SPDX-License-Identifier: Apache-2.0
"""What an operator installs: images, manifests, a policy, a namespace. The agent reads a recorded /sys in place of the
machine's, which has no RDMA devices."""
import json
import pathlib
import shutil

from agents import write_sys
from image import BUSYBOX_IMAGE, write_image
from node import NAME
from process import Failed, eventually

SOURCE = pathlib.Path(__file__).resolve().parents[2]
HCAS = [f"mlx5_{number}" for number in range(4)]
POLICY = SOURCE / "tests/cluster/policy.yaml"
# The overlay's agent, with the recorded /sys where the image looks for it.
RECORDED = """apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [{base}]
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


class Installation:
    def __init__(self, node, images, state):
        self.node, self.images, self.state = node, images, state

    def install(self):
        archives = [self.images / f"nccl-env-{image}.oci.tar" for image in ("webhook", "agent")]
        for archive in archives:
            if not archive.exists():
                raise Failed(f"there is no {archive}: make image")
        write_image(self.state / "busybox.tar", BUSYBOX_IMAGE)
        for archive in (*archives, self.state / "busybox.tar"):
            self.node.load(archive)
        write_sys(self.state / "sys", HCAS, 3)
        self.offer_devices()
        self.apply_manifests()
        self.wait_for("deployment/nccl-env-webhook", "daemonset/nccl-env-agent")
        eventually("the policy is taken", lambda: self.node.kubectl("apply", "-f", POLICY, check=False)[0] == 0)
        eventually("the policy is accepted", self.is_accepted)
        self.node.kubectl("apply", "-f", "-", stdin=json.dumps({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "ml", "labels": {"nccl-env.io/policy": "rails"}}}))
        eventually("the node has a table with all its HCAs", self.has_table)

    def offer_devices(self):
        """In place of a device plugin."""
        amounts = {"capacity": {"rdma/hca": "100"}}
        self.node.kubectl("patch", "node", NAME, "--subresource=status", "--type=merge", "-p", json.dumps({"status": amounts}))

    def apply_manifests(self):
        manifests = self.state / "manifests"
        shutil.copytree(SOURCE / "manifests", manifests)
        overlay = manifests / "overlays/recorded"
        overlay.mkdir()
        (overlay / "kustomization.yaml").write_text(RECORDED.format(base="../default", recorded=self.state / "sys"))
        self.node.kubectl("apply", "-k", overlay)

    def wait_for(self, *workloads):
        for workload in workloads:
            said = self.node.kubectl("-n", "nccl-env", "rollout", "status", "--timeout=120s", workload, check=False)
            if said[0]:
                raise Failed(f"{workload}: {said[1].strip()}\n{self.node.kubectl('-n', 'nccl-env', 'get', 'events')}")

    def is_accepted(self):
        policy = json.loads(self.node.kubectl("get", "ncclpolicy", "rails", "-o", "json"))
        return any(one["type"] == "Accepted" and one["status"] == "True"
                   for one in policy.get("status", {}).get("conditions", []))

    def has_table(self):
        code, said = self.node.kubectl("get", "nodefabric", NAME, "-o", "json", check=False)
        ports = json.loads(said).get("observed", {}).get("ports", []) if code == 0 else []
        return [port["hca"] for port in ports] == HCAS
