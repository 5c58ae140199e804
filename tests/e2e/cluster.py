# SPDX-License-Identifier: Apache-2.0
"""A control plane with nccl-env installed from its manifests, and its programs as processes of this machine."""
import base64
import json
import pathlib
import shutil

from agents import Agent
from api import Refused
from balancer import Balancer
from control_plane import ControlPlane
from objects import given, ours, pod, policy
from process import Failed, eventually
from webhooks import Webhooks

SOURCE = pathlib.Path(__file__).resolve().parents[2]


class Cluster:
    def __init__(self, binaries, programs, directory):
        self.directory = pathlib.Path(directory)
        self.balancer = Balancer()
        self.plane = ControlPlane(binaries, directory, f"127.0.0.1:{self.balancer.port}")
        self.api, self.kubectl = self.plane.api, self.plane.kubectl
        self.programs = pathlib.Path(programs)
        self.webhooks = Webhooks(self.programs / "nccl-env-webhook", self.plane, self.balancer, self.directory)

    def install(self, *options):
        """The default overlay with its hooks led to this machine; what kubectl said."""
        manifests = self.directory / "manifests"
        if not manifests.exists():
            shutil.copytree(SOURCE / "manifests", manifests)
        here = manifests / "overlays" / "e2e-default"
        here.mkdir(exist_ok=True)
        text = (SOURCE / "tests/e2e/overlay/kustomization.yaml").read_text()
        text = text.replace("ADDRESS", f"127.0.0.1:{self.balancer.port}")
        (here / "kustomization.yaml").write_text(text)
        return self.kubectl("apply", *options, "-k", here)

    def check_overlays(self):
        """The API server takes the other overlay, without cert-manager's own objects: their CRDs are not here."""
        documents = self.kubectl("kustomize", SOURCE / "manifests/overlays/cert-manager").split("\n---\n")
        own = "\n---\n".join(text for text in documents if "apiVersion: cert-manager.io/" not in text)
        self.kubectl("apply", "--dry-run=server", "-f", "-", stdin=own)

    def start_webhooks(self):
        for name in ("webhook-0", "webhook-1"):
            self.webhooks.start(name)
        eventually("caBundle is in all hooks", self.has_ca_bundles)
        # The API server follows its own configurations a moment later, each kind by itself.
        eventually("policies are validated", lambda: self.accepts(policy("probe")))
        self.put_policy(policy("ready"))
        self.opt_in("ready", "ready")
        self.wait_called()

    def wait_called(self):
        """The API server trusts the replicas' certificate, in both configurations."""
        eventually("policies are validated", lambda: self.accepts(policy("probe")))
        eventually("pods are admitted", lambda: ours(self.would_be(pod("ready", "probe"))))

    def issue_anew(self, *options):
        """Starts replicas with these options after the manifests', and with certificates of a new CA."""
        self.webhooks.issue_anew(*options)
        self.wait_called()

    def would_be(self, manifest):
        """The object that a create would make of the manifest now."""
        return self.api.create(manifest, "?dryRun=All")

    def accepts(self, manifest):
        try:
            return self.would_be(manifest)
        except Refused:
            return None

    def agent(self, node, agent_pod, name):
        """A process for this node, with the token of this pod."""
        return Agent(self.programs / "nccl-env-agent", self.plane, node, agent_pod, self.directory, name)

    def has_ca_bundles(self):
        return all(hook["clientConfig"].get("caBundle")
                   for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
                   for hook in self.api.get(kind, None, "nccl-env")["webhooks"])

    def put_policy(self, manifest):
        """Applied and accepted; its generation."""
        name = manifest["metadata"]["name"]
        generation = self.api.apply(manifest)["metadata"]["generation"]

        def accepted():
            conditions = self.api.get("NcclPolicy", None, name).get("status", {}).get("conditions", [])
            return [c for c in conditions if c["type"] == "Accepted" and c.get("observedGeneration") == generation]
        condition = eventually(f"status of policy {name} at generation {generation}", accepted)[0]
        if condition["status"] != "True":
            raise Failed(f"policy {name} is not accepted: {condition['message']}")
        return generation

    def opt_in(self, namespace, policy_name):
        """A namespace whose pods follow this policy from now on, whichever replica answers."""
        self.plane.add_namespace(namespace, {"nccl-env.io/policy": policy_name})

        def knows(replica):
            annotations = replica.binding_annotations(namespace, "no-such-node", self.authority())
            return json.loads(annotations.get("nccl-env.io/node", "{}")).get("policy") == policy_name
        for replica in self.webhooks.replicas.values():
            eventually(f"{replica.name} knows {namespace}", lambda: knows(replica), pause=0.01)

    def bound(self, namespace, name):
        """The pod, once it has a node."""
        def look():
            found = self.api.get("Pod", namespace, name)
            return found if found["spec"].get("nodeName") else None
        return eventually(f"pod {namespace}/{name} is bound", look)

    def authority(self):
        """The CA bundle of the hooks, as text."""
        hook = self.api.get("MutatingWebhookConfiguration", None, "nccl-env")["webhooks"][0]
        return base64.b64decode(hook["clientConfig"]["caBundle"]).decode()

    def follows(self, namespace, node, name, value):
        """Waits until every replica gives Bindings of this namespace to this node `value`, None for no value."""
        for replica in self.webhooks.replicas.values():
            eventually(f"{replica.name} gives Bindings to {node} {name}={value}", lambda: value == given(
                replica.binding_annotations(namespace, node, self.authority()), name), pause=0.01)

    def held(self, manifest):
        """Creates a pod that `onUnresolved: Deny` holds back; returns the event that says so. A pod that the webhook
        cannot read within its 300 ms passes (PodLookupFailed) and is then created again."""
        namespace, name = manifest["metadata"]["namespace"], manifest["metadata"]["name"]

        def told():
            return [text for text in self.events(namespace, name) if "binding.nccl-env.io" in text]

        def passed():
            return [entry for replica in self.webhooks.replicas.values() for entry in replica.decisions()
                    if (entry["namespace"], entry["pod"], entry.get("reason")) == (namespace, name, "PodLookupFailed")]
        count = 0
        while True:
            self.api.create(manifest)
            said = eventually(f"an event says why {namespace}/{name} waits", lambda: told() or passed()[count:])
            if isinstance(said[0], str):
                return said[0]
            count = len(passed())
            self.api.delete("Pod", namespace, name, grace=0)

    def why(self, namespace, name):
        """What replicas and API server said of this pod's admission, for a test that failed."""
        decisions = [entry for replica in self.webhooks.replicas.values() for entry in replica.decisions()
                     if (entry["namespace"], entry["pod"]) == (namespace, name)]
        return f"replicas: {decisions}, let pass by the API server: {self.plane.let_pass()}"

    def events(self, namespace, name):
        """The messages of a pod's events."""
        return [event["message"] for event in self.api.list("Event", namespace)
                if event["involvedObject"].get("name") == name]

    def clear(self, *namespaces):
        """Pods first, because no kubelet would end them."""
        for namespace in namespaces:
            try:
                self.api.delete("Namespace", None, namespace)
            except Refused:
                continue
            self.kubectl("delete", "pods", "-n", namespace, "--all", "--grace-period=0", "--force", "--wait=false")

    def stop(self):
        self.webhooks.stop()
        self.plane.stop()
