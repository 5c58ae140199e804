#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The chart gives the objects of manifests/, each value does what it says, and wrong values are refused.

  check.py TOOLS     TOOLS holds helm and kustomize"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CHART = SOURCE / "charts/nccl-env"
VERSION = subprocess.run([SOURCE / "scripts/version"], capture_output=True, text=True, check=True).stdout.strip()
WHOLE = ["createNamespace=true"]

# Overlay, its components, and the values that give the same.
SAME = [
    ("default", [], []),
    ("cert-manager", [], ["certificates.mode=cert-manager"]),
    ("default", ["monitoring"], ["monitoring.enabled=true"]),
    ("default", ["three-nodes"], ["webhook.replicas=3", "webhook.spread=DoNotSchedule"]),
    *((overlay, [component], [*mode, *values])
      for overlay, mode in (("default", []), ("cert-manager", ["certificates.mode=cert-manager"]))
      for component, values in (("without-resolver", ["resolver.enabled=false"]),
                                ("less-rights", ["rbac.readPods=false", "rbac.readClaims=false", "rbac.readNodes=false"]),
                                ("client-ca", ["webhook.args={--client-ca=/etc/nccl-env/client-ca/ca.crt}"]))),
    ("cert-manager", ["monitoring"], ["certificates.mode=cert-manager", "monitoring.enabled=true"]),
]

WEBHOOK, AGENT = ("Deployment", "nccl-env-webhook"), ("DaemonSet", "nccl-env-agent")
POD, CONTAINER = "spec.template.spec.", "spec.template.spec.containers.0."
RESOLVES = "--resolver-image=$(RESOLVER_IMAGE)"
DIGEST = "sha256:" + 64 * "a"
# Value, object, where in it, and what is there.
EFFECTS = [
    ("image.webhook.repository=example.com:5000/a/w", WEBHOOK, CONTAINER + "image", f"example.com:5000/a/w:{VERSION}"),
    ("image.registry=example.com:5000/a", WEBHOOK, CONTAINER + "image", f"example.com:5000/a/nccl-env-webhook:{VERSION}"),
    ("image.registry=r.example", AGENT, CONTAINER + "image", f"r.example/nccl-env-agent:{VERSION}"),
    ("image.registry=r.example", WEBHOOK, CONTAINER + "env.0.value", f"r.example/nccl-env-agent:{VERSION}"),
    ("image.webhook.tag=1.2.3", WEBHOOK, CONTAINER + "image", "nccl-env-webhook:1.2.3"),
    ("image.agent.tag=1.2.3", AGENT, CONTAINER + "image", "nccl-env-agent:1.2.3"),
    (f"image.agent.digest={DIGEST}", AGENT, CONTAINER + "image", f"nccl-env-agent@{DIGEST}"),
    (f"image.webhook.digest={DIGEST},image.webhook.tag=v1", WEBHOOK, CONTAINER + "image", f"nccl-env-webhook@{DIGEST}"),
    ("image.pullSecrets[0].name=mine", AGENT, POD + "imagePullSecrets", [{"name": "mine"}]),
    ("image.pullSecrets[0].name=mine", WEBHOOK, POD + "imagePullSecrets", [{"name": "mine"}]),
    ("image.pullPolicy=Always", AGENT, CONTAINER + "imagePullPolicy", "Always"),
    ("image.pullPolicy=Always", WEBHOOK, CONTAINER + "imagePullPolicy", "Always"),
    ("serviceAccount.annotations.a\\.b/c=d", ("ServiceAccount", "nccl-env-agent"), "metadata.annotations", {"a.b/c": "d"}),
    ("serviceAccount.annotations.role=d", ("ServiceAccount", "nccl-env-webhook"), "metadata.annotations.role", "d"),
    *((f"{part}.{value}={given}", some, path, wanted) for part, some in (("webhook", WEBHOOK), ("agent", AGENT))
      for value, given, path, wanted in (("podAnnotations.note", "x", "spec.template.metadata.annotations.note", "x"),
                                         ("podLabels.team", "net", "spec.template.metadata.labels.team", "net"),
                                         ("priorityClassName", "high", POD + "priorityClassName", "high"))),
    ("agent.port=9081", AGENT, CONTAINER + "ports.0", {"name": "metrics", "containerPort": 9081, "hostPort": 9081}),
    ("agent.port=9081", AGENT, CONTAINER + "args.3", "--ops-listen=:9081"),
    ("webhook.replicas=5", WEBHOOK, "spec.replicas", 5),
    ("webhook.spread=DoNotSchedule", WEBHOOK, POD + "topologySpreadConstraints.0.whenUnsatisfiable", "DoNotSchedule"),
    ("webhook.resources.limits.memory=1Gi", WEBHOOK, CONTAINER + "resources.limits.memory", "1Gi"),
    ("webhook.apiServerCidrs={10.0.0.10/32,fd00::a/128}", ("NetworkPolicy", "nccl-env-webhook"), "spec.ingress.0.from",
     [{"ipBlock": {"cidr": "10.0.0.10/32"}}, {"ipBlock": {"cidr": "fd00::a/128"}}]),
    ("rbac.readPods=false", ("ClusterRole", "nccl-env-webhook"), "rules.3.resources",
     ["resourceclaims", "resourceclaimtemplates"]),
    ("rbac.readClaims=false", ("ClusterRole", "nccl-env-webhook"), "rules.4.resources", ["nodes"]),
    ("rbac.readNodes=false", ("ClusterRole", "nccl-env-webhook"), "rules.5.apiGroups",
     ["admissionregistration.k8s.io"]),
    ("webhook.carrier=EnvFile", WEBHOOK, CONTAINER + "args.3", "--carrier=EnvFile"),
    ("webhook.maxTableAge=6h", WEBHOOK, CONTAINER + "args.3", "--max-table-age=6h"),
    ("webhook.logLevel=debug", WEBHOOK, CONTAINER + "args.4", "--log-level=debug"),
    ("webhook.args[0]=--threads=4", WEBHOOK, CONTAINER + "args.4", "--threads=4"),
    (f"image.agent.digest={DIGEST}", WEBHOOK, CONTAINER + "env.0.value", f"nccl-env-agent@{DIGEST}"),
    ("webhook.replicas=1", WEBHOOK, CONTAINER + "args.3", RESOLVES),
    ("certificates.mode=files,certificates.caBundle=Y2E=", WEBHOOK, CONTAINER + "args.3", RESOLVES),
    ("resolver.enabled=false,webhook.args[0]=--threads=4", WEBHOOK, CONTAINER + "args.3", "--threads=4"),
    ("image.pullSecrets[0].name=mine,webhook.args[0]=--threads=4", WEBHOOK, CONTAINER + "args.3", "--threads=4"),
    ("image.pullSecrets[0].name=mine,resolver.enabled=true", WEBHOOK, CONTAINER + "args.3", RESOLVES),
    ("webhook.carrier=EnvFile", WEBHOOK, CONTAINER + "args.3", "--carrier=EnvFile"),
    ("webhook.carrier=EnvFile,image.pullSecrets[0].name=mine,resolver.enabled=true", WEBHOOK, CONTAINER + "args.3",
     "--carrier=EnvFile"),
    ("resolver.cpu=100m", WEBHOOK, CONTAINER + "args.4", "--resolver-cpu=100m"),
    ("resolver.memory=64Mi", WEBHOOK, CONTAINER + "args.4", "--resolver-memory=64Mi"),
    ("resolver.ephemeralStorage=1Gi", WEBHOOK, CONTAINER + "args.4", "--resolver-ephemeral-storage=1Gi"),
    ("webhook.tolerations[0].operator=Exists", WEBHOOK, POD + "tolerations", [{"operator": "Exists"}]),
    ("webhook.nodeSelector.pool=system", WEBHOOK, POD + "nodeSelector", {"pool": "system"}),
    ("agent.resources.limits.memory=1Gi", AGENT, CONTAINER + "resources.limits.memory", "1Gi"),
    ("agent.logLevel=debug", AGENT, CONTAINER + "args.3", "--log-level=debug"),
    ("agent.args[0]=--refresh=30m", AGENT, CONTAINER + "args.3", "--refresh=30m"),
    ("agent.tolerations[0].key=gpu", AGENT, POD + "tolerations", [{"key": "gpu"}]),
    ("agent.nodeSelector.pool=gpu", AGENT, POD + "nodeSelector", {"pool": "gpu"}),
    ("monitoring.enabled=true,monitoring.labels.release=prom", ("PrometheusRule", "nccl-env"),
     "metadata.labels.release", "prom"),
    ("monitoring.enabled=true,monitoring.labels.release=prom", ("PodMonitor", "nccl-env-agent"),
     "metadata.labels.release", "prom"),
    ("monitoring.enabled=true,monitoring.runbooks=https://example.com/r", ("PrometheusRule", "nccl-env"),
     "spec.groups.0.rules.0.annotations.runbook_url", "https://example.com/r#ncclenvnowebhookready"),
    ("certificates.mode=files,certificates.caBundle=Y2E=", ("MutatingWebhookConfiguration", "nccl-env"),
     "webhooks.3.clientConfig.caBundle", "Y2E="),
    ("certificates.mode=files,certificates.caBundle=Y2E=", ("ValidatingWebhookConfiguration", "nccl-env"),
     "webhooks.0.clientConfig.caBundle", "Y2E="),
    ("certificates.mode=files,certificates.caBundle=Y2E=", WEBHOOK, POD + "volumes.0.secret.secretName",
     "nccl-env-webhook-tls"),
]

# Value, and what the refusal says of it.
REFUSED = [
    ("webhook.apiServerCidrs={10.0.0.10}", "/webhook/apiServerCidrs/0"), ("rbac.readPods=maybe", "/rbac/readPods"),
    ("webhook.carrier=EnvFile,resolver.enabled=false", "/resolver/enabled"),
    ("webhook.carrier=EnvFile,image.pullSecrets[0].name=mine", "/image/pullSecrets"),
    ("webhook.spread=never", "/webhook/spread"), ("webhook.replicas=0", "/webhook/replicas"), ("webhook.replica=3", "'replica' not allowed"),
    ("certificates.mode=self-signed", "'managed', 'cert-manager'"),
    ("certificates.mode=files", "/certificates/caBundle"), ("certificates.caBundle=Y2E=", "/certificates/caBundle"),
    ("webhook.maxTableAge=3 hours", "/webhook/maxTableAge"), ("webhook.logLevel=loud", "/webhook/logLevel"),
    ("agent.args[0]=refresh", "/agent/args/0"), ("image.agent.repository=Not A Name", "/image/agent/repository"),
    ("image.agent.digest=sha256:1234", "/image/agent/digest"), ("image.registry=r.example/", "/image/registry"),
    ("resolver.enabled=yes", "/resolver/enabled"), ("resolver.cpu=much", "/resolver/cpu"),
    ("monitoring.enabled=maybe", "/monitoring/enabled"), ("nodeSelector.pool=gpu", "'nodeSelector' not allowed"),
    ("createNamespace=1", "/createNamespace"), ("agent.port=0", "/agent/port"), ("agent.namespace=", "/agent/namespace"),
    ("image.pullPolicy=Sometimes", "/image/pullPolicy"), ("webhook.podLabels.team=1", "/webhook/podLabels/team"),
]


def by_name(text):
    """Objects by kind, namespace and name; one that is there twice, or none, is a fault."""
    found = {}
    for some in filter(None, yaml.safe_load_all(text)):
        key = (some["kind"], some["metadata"].get("namespace", ""), some["metadata"]["name"])
        if key in found:
            raise SystemExit(f"{key} is there twice")
        found[key] = some
    return found


class Tools:
    def __init__(self, directory):
        self.helm, self.kustomize = pathlib.Path(directory) / "helm", pathlib.Path(directory) / "kustomize"

    def run(self, *command):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def template(self, values, namespace="nccl-env", more=(), chart=CHART):
        return self.run(self.helm, "template", "nccl-env", chart, "--namespace", namespace, "--include-crds", *more,
                        *(part for value in values for part in ("--set", value)))

    def rendered(self, values, namespace="nccl-env", more=(), chart=CHART):
        code, output, said = self.template(values, namespace, more, chart)
        if code:
            raise SystemExit(f"helm template {values}: {said}")
        return by_name(output)

    def overlay(self, name, components, images=(), patches=()):
        """Objects of an overlay with components, images and patches."""
        with tempfile.TemporaryDirectory(prefix="nccl-env-overlay.") as folder:
            shutil.copytree(SOURCE / "manifests", folder, dirs_exist_ok=True)
            here = pathlib.Path(folder) / "overlays/here"
            here.mkdir()
            (here / "kustomization.yaml").write_text(yaml.safe_dump({
                "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": [f"../{name}"],
                "components": [f"../../components/{component}" for component in components], "images": list(images),
                "patches": list(patches)}))
            code, output, said = self.run(self.kustomize, "build", here)
        if code:
            raise SystemExit(f"kustomize build {name}: {said}")
        return by_name(output)


def at(some, path):
    for part in path.split("."):
        some = some[int(part)] if isinstance(some, list) else some.get(part) if some else None
    return some


def differences(ours, theirs, path=""):
    """Where two objects differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            yield from differences(ours.get(key), theirs.get(key), f"{path}.{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, both in enumerate(zip(ours, theirs)):
            yield from differences(*both, f"{path}.{number}")
    elif ours != theirs:
        yield f"{path}: {theirs!r} of the chart instead of {ours!r}"


def check_same(tools):
    for name, components, values in SAME:
        ours, theirs = tools.overlay(name, components), tools.rendered(WHOLE + values)
        for key in sorted(ours.keys() | theirs.keys()):
            where = f"{'+'.join([name, *components])}: {' '.join(filter(None, key))}"
            if key not in ours or key not in theirs:
                yield f"{where}: not of {'the overlay' if key not in ours else 'the chart'}"
            else:
                yield from (where + one for one in differences(ours[key], theirs[key]))
    missing = tools.rendered(WHOLE).keys() - tools.rendered(["agent.createNamespace=false"]).keys()
    if missing != {("Namespace", "", "nccl-env"), ("Namespace", "", "nccl-env-agent")}:
        yield f"createNamespace adds {missing}"


def check_images(tools):
    """Images are named once, also the one that the webhook gives to pods: in an overlay of one's own, as make image
    writes it, and in values."""
    names = [f"nccl-env-{part}" for part in ("webhook", "agent")]
    images = [{"name": name, "newName": f"r.example/{name}", "digest": DIGEST} for name in names]
    values = [f"image.{name[9:]}.{key}={value}" for name in names
              for key, value in (("repository", f"r.example/{name}"), ("digest", DIGEST))]
    for overlay, more in (("default", []), ("cert-manager", ["certificates.mode=cert-manager"])):
        ours, theirs = tools.overlay(overlay, [], images), tools.rendered(WHOLE + more + values)
        for key, some in ours.items():
            yield from (f"images, {overlay}, {key[2]}{one}" for one in differences(some, theirs[key]))
        given = at(ours["Deployment", "nccl-env", "nccl-env-webhook"], CONTAINER + "env.0.value")
        if given != f"r.example/nccl-env-agent@{DIGEST}":
            yield f"images, {overlay}: pods get {given}"


def check_port(tools):
    """The patch of docs/operate/install.md does what agent.port does."""
    page = (SOURCE / "docs/operate/install.md").read_text()
    blocks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.S) if "--ops-listen=" in block]
    for block in blocks:
        ours, theirs = tools.overlay("default", [], patches=block["patches"]), tools.rendered([*WHOLE, "agent.port=9081"])
        key = ("DaemonSet", "nccl-env-agent", "nccl-env-agent")
        yield from (f"agent.port{one}" for one in differences(ours[key], theirs[key]))
    if len(blocks) != 1:
        yield f"agent.port: {len(blocks)} patches in install.md instead of one"


def check_values(tools):
    for value, (kind, name), path, wanted in EFFECTS:
        objects = {(key[0], key[2]): some for key, some in tools.rendered([value]).items()}
        found = at(objects[kind, name], path)
        if found != wanted:
            yield f"{value}: {found!r} instead of {wanted!r} at {path}"
    for value, part in REFUSED:
        code, _, said = tools.template([value])
        if not code or part not in said:
            yield f"{value}: {'not as it should be' if code else 'not'} refused: {said}"


def check_namespace(tools):
    """In other namespaces everything is there, and nothing speaks of nccl-env or nccl-env-agent as one."""
    names = {"": "", "nccl-env": "fabric", "nccl-env-agent": "nodes"}
    for values in ([], ["certificates.mode=cert-manager", "monitoring.enabled=true"]):
        own, other = tools.rendered(WHOLE + values), tools.rendered([*WHOLE, *values, "agent.namespace=nodes"], "fabric")
        moved = {(kind, names[namespace], names[name] if kind == "Namespace" else name): some
                 for (kind, namespace, name), some in own.items()}
        if moved.keys() != other.keys():
            yield f"other namespaces: {moved.keys() ^ other.keys()}"
        text = yaml.safe_dump_all([some for key, some in other.items() if key[0] not in ("CustomResourceDefinition", "ConfigMap")])
        for trace in ("namespace: nccl-env", "serviceaccount:nccl-env", "nccl-env/nccl-env", ".nccl-env.svc", "-n nccl-env",
                      "- nccl-env\n      - ", "- nccl-env-agent\n", "kube-system\n      - nccl-env"):
            if trace in text:
                yield f"other namespaces: {trace!r} is left"


HA = CHART / "values-ha.yaml"


def check_ha(tools):
    """The preset differs from the defaults in what it names, and the budget lets one of three replicas go."""
    own, ha = tools.rendered([]), tools.rendered([], more=["--values", HA])
    found = [f"{key[2]}{one}" for key, some in own.items() for one in differences(some, ha[key])]
    wanted = ["nccl-env-webhook.spec.replicas: 3 of the chart instead of 2",
              "nccl-env-webhook.spec.template.spec.topologySpreadConstraints.0.minDomains: 3 of the chart instead of None",
              "nccl-env-webhook.spec.template.spec.topologySpreadConstraints.0.whenUnsatisfiable: "
              "'DoNotSchedule' of the chart instead of 'ScheduleAnyway'"]
    if found != wanted:
        yield f"values-ha.yaml: {found}"
    budget = at(ha["PodDisruptionBudget", "nccl-env", "nccl-env-webhook"], "spec.maxUnavailable")
    if budget != 1:
        yield f"values-ha.yaml: the budget lets {budget} go"


# Without a cluster Helm renders templates alone.
NOTES = """{{ define "notes" }}%s{{ end }}
apiVersion: v1
kind: ConfigMap
metadata: {name: notes}
data:
  text: |
{{ include "notes" . | indent 4 }}
"""


def check_notes(tools):
    """What Helm prints needs nothing but the cluster: no file of this repository."""
    with tempfile.TemporaryDirectory(prefix="nccl-env-notes.") as folder:
        chart = shutil.copytree(CHART, pathlib.Path(folder) / "nccl-env")
        (chart / "templates/notes.yaml").write_text(NOTES % (chart / "templates/NOTES.txt").read_text())
        for values in ([], ["image.pullSecrets[0].name=mine"]):
            notes = tools.rendered(values, "fabric", chart=chart)["ConfigMap", "", "notes"]["data"]["text"]
            if "kubectl -n fabric " not in notes or "namespace fabric pod-security.kubernetes.io/enforce=restricted" not in notes:
                yield f"notes {values}: {notes}"
            yield from (f"notes {values}: {word}" for word in re.findall(r"\S+/\S+", notes) if (SOURCE / word).exists())
            policy = yaml.safe_load(re.search(r"<<'EOF'\n(.*?)^EOF$", notes, re.S | re.M)[1])
            if policy["kind"] != "NcclPolicy" or policy["spec"]["mode"] != "DryRun":
                yield f"notes {values}: {policy}"


def check_lint(tools):
    for values in ([], ["--set=monitoring.enabled=true"], ["--set=certificates.mode=cert-manager"], [f"--values={HA}"]):
        code, output, said = tools.run(tools.helm, "lint", "--strict", CHART, *values)
        if code or re.search(r"\[(INFO|WARNING|ERROR)\]", output):
            yield f"helm lint {values}: {output}{said}"


def main():
    tools = Tools(sys.argv[1])
    checks = (check_lint, check_notes, check_ha, check_same, check_images, check_port, check_values, check_namespace)
    found = [problem for check in checks for problem in check(tools)]
    for problem in found:
        print(problem)
    print(f"chart: {len(SAME)} renderings as kustomize's, {len(EFFECTS)} values, {len(REFUSED)} refusals, "
          f"{len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
