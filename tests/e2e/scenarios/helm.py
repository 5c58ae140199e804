# SPDX-License-Identifier: Apache-2.0
"""docs/operate/install.md and docs/operate/operations.md with Helm, on a cluster that has nothing of ours: install, upgrade and rollback under creates,
break-glass, uninstall."""
import concurrent.futures
import itertools
import os
import pathlib
import re
import signal
import threading
import time

import yaml
from api import Refused
from asker import Asker
from cluster import SOURCE
from objects import HCA, annotations_of, env_of, expect, expect_in, given, hca_list, ours, pod, policy, table
from process import Failed, eventually
from scenarios.removal import play_kubelet, shell

NAME = "10 Helm: install, upgrade and rollback under creates, break-glass, uninstall"
RAILS = ["mlx5_1", "mlx5_2"]
EACH = 1 / 30  # seconds between two creates, where the machine is fast enough
CLIENTS, MEET = 8, 90  # creates that meet what a release changed

# Leads the hooks to this machine, as the e2e overlay does for kustomize.
RENDERER = r"""#!/usr/bin/env python3
import re, sys
text = re.sub(r"service: \{namespace: [a-z-]+, name: nccl-env-webhook, path: (/[a-z]+), port: 443\}",
              r"url: https://ADDRESS\1", sys.stdin.read())
print(re.sub(r"^  timeoutSeconds: \d+$", "  timeoutSeconds: 30", text, flags=re.M))
"""


def blocks(heading):
    """The blocks of commands under a heading of the two pages."""
    text = "".join((SOURCE / page).read_text() for page in ("docs/operate/install.md", "docs/operate/operations.md"))
    section = re.search(rf"^##+ {heading}\n(.*?)(?=^##+ |\Z)", text, re.M | re.S)[1]
    return re.findall(r"```sh\n(.*?)```", section, re.S)


class Helm:
    def __init__(self, cluster, tools):
        self.cluster = cluster
        renderer = cluster.directory / "post-renderer"
        renderer.write_text(RENDERER.replace("ADDRESS", f"127.0.0.1:{cluster.balancer.port}"))
        renderer.chmod(0o755)
        self.tools, self.more = tools, f"--post-renderer {renderer}"

    def __call__(self, commands, more=""):
        """Runs the page's commands; those that render get what leads them to this machine, and `more`."""
        commands = re.sub(r"\\\n", " ", commands)
        commands = re.sub(r"^(helm (?:install|upgrade) .*)$", rf"\1 {self.more} {more}", commands, flags=re.M)
        return shell(self.cluster, f'export PATH="{self.tools}:$PATH"\n{commands}')


class Creates(threading.Thread):
    """Up to thirty a second, whatever happens meanwhile."""

    def __init__(self, api):
        super().__init__(daemon=True)
        self.api, self.stopping, self.failures, self.made, self.seconds = api, threading.Event(), [], [], 0
        self.numbers, self.begin = itertools.count(), time.monotonic()

    def serve(self, _):
        for number in self.numbers:
            if self.stopping.wait(max(0, self.begin + number * EACH - time.monotonic())):
                return
            try:
                self.api.create(pod("chart", f"pod-{number}", node="node-a"))
                self.made.append(f"pod-{number}")
            except (Refused, OSError) as error:
                self.failures.append(f"pod-{number}: {error}")

    def run(self):
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(self.serve, range(CLIENTS)))
        self.seconds = time.monotonic() - self.begin

    def wait_for(self, more):
        """Until so many more were made."""
        count = len(self.made) + more
        eventually(f"{count} pods were created", lambda: len(self.made) >= count or self.failures)


def roll(cluster, creates, draining, release, argument=None):
    """The replicas one by one, as a Deployment with maxUnavailable 0 does: a new one, with its arguments, before an
    old one drains, which takes as long as the API server keeps connections."""
    webhooks = cluster.webhooks
    for name in list(webhooks.replicas):
        fresh = f"{name}-{release}"
        webhooks.start(fresh)
        if argument and argument not in webhooks.replicas[fresh].command:
            raise Failed(f"{fresh} was not started with the release's {argument}")
        webhooks.balancer.remove(name)
        draining.append(webhooks.replicas.pop(name))
        draining[-1].process.send_signal(signal.SIGTERM)
    creates.wait_for(MEET)


def check_hooks(cluster, change):
    if not cluster.has_ca_bundles():
        raise Failed(f"the {change} took caBundle away")


def check_changes(cluster, helm):
    """Every pod made during an upgrade and a rollback has its values."""
    upgrade = blocks("Upgrade")[-1]
    rollback = next(line for line in blocks("Rollback")[-1].splitlines() if line.startswith("helm rollback"))
    creates, draining = Creates(cluster.api), []
    creates.start()
    try:
        helm(upgrade, "--set webhook.maxTableAge=170m")
        check_hooks(cluster, "upgrade")
        roll(cluster, creates, draining, 2, "--max-table-age=170m")
        helm(rollback)
        check_hooks(cluster, "rollback")
        roll(cluster, creates, draining, 3)
    finally:
        creates.stopping.set()
        creates.join()
        for replica in draining:  # nobody asks them any more
            replica.end(signal.SIGKILL)
    expect("failed creates", creates.failures, [])
    lost = [name for name in creates.made if given(annotations_of(cluster.bound("chart", name))) != hca_list(RAILS)]
    expect("pods without values", lost, [])
    return f"{len(creates.made)} pods created in {creates.seconds:.0f} s meanwhile, none without values"


def check_break_glass(cluster, helm):
    api = cluster.api
    api.create(pod("chart", "pending", node="node-a", schedulingGates=[{"name": "e2e.nccl-env.io/hold"}]))
    shell(cluster, blocks("Break-glass")[0])
    api.merge("Pod", "chart", "pending", {"spec": {"schedulingGates": []}})
    pending = cluster.bound("chart", "pending")
    expect("HCA list of the pod that waited", env_of(pending).get("NCCL_IB_HCA"), None)
    expect("its annotations", set(ours(pending)), {"nccl-env.io/status"})
    api.create(pod("chart", "unchanged", node="node-a"))
    expect("our annotations after break-glass", ours(cluster.bound("chart", "unchanged")), {})
    helm(re.search(r"helm upgrade .*\n", blocks("Upgrade")[-1])[0])
    eventually("caBundle is back", cluster.has_ca_bundles)
    api.create(pod("chart", "again", node="node-a"))
    expect("HCA list after the upgrade", given(annotations_of(cluster.bound("chart", "again"))), hca_list(RAILS))


def check_installation(ask):
    """All is well but what kubelets and agents bring, of which there is none: ready pods, and tables of all nodes."""
    told = ask.json(1, "check")
    odd = {some["code"] for some in told["findings"] if some["severity"] != "info"}
    expect("what is not well", odd - {"Tables"}, {"Webhook", "Agents"})
    (answer,) = (some["sentence"] for some in told["ok"] if some["code"] == "Answers")
    expect_in("the dry run", answer, "in namespace chart would get", "NCCL_IB_HCA (File)")


def check_uninstall(cluster, helm):
    stopping = threading.Event()
    threading.Thread(target=play_kubelet, args=(cluster, stopping), daemon=True).start()
    uninstall, rest = blocks("Uninstall")[1].split("kubectl delete crd")
    try:
        helm(uninstall)
        expect("CRDs after helm uninstall", cluster.kubectl("get", "crd", "-o", "name").count("nccl-env.io"), 2)
        helm("kubectl delete crd" + rest)
    finally:
        stopping.set()
    left = cluster.kubectl("get", "-o", "name", "crds,clusterroles,clusterrolebindings,validatingadmissionpolicies,"
                           "validatingadmissionpolicybindings,mutatingwebhookconfigurations,"
                           "validatingwebhookconfigurations,priorityclasses,namespaces")
    if "nccl-env" in left:
        raise Failed(f"left behind: {left}")


def run(cluster):
    tools = os.environ.get("NCCL_ENV_CHART_TOOLS")
    if not tools:
        raise Failed("NCCL_ENV_CHART_TOOLS does not say where helm is; make e2e sets it by tests/chart/tools/build")
    helm = Helm(cluster, pathlib.Path(tools).resolve())
    if "nccl-env" in cluster.kubectl("get", "namespaces", "-o", "name"):
        raise Failed("nccl-env is installed already: scenario 8 comes first")
    for name in list(cluster.webhooks.replicas):
        cluster.webhooks.end(name, signal.SIGKILL)
        del cluster.webhooks.replicas[name]
    cluster.clear("ready")  # which the start of the replicas makes
    eventually("its namespace is gone", lambda: "/ready\n" not in cluster.kubectl("get", "namespaces", "-o", "name"))
    ask = Asker(cluster, cluster.plane.kubeconfig)
    expect("exit code where nothing is installed", ask.run("check")[0], 3)
    expect_in("check --pre", ask.told(0, "check", "--pre"), "you may create all", "there is no namespace nccl-env yet")
    said = helm(blocks("With Helm")[0])
    cluster.start_webhooks()
    first = re.search(r"<<'EOF'\n(.*?)^EOF$", said, re.S | re.M)[1]
    cluster.put_policy(yaml.safe_load(first))  # of the notes
    cluster.api.apply(table("node-a", RAILS))
    cluster.put_policy(policy("chart"))
    cluster.opt_in("chart", "chart")
    cluster.follows("chart", "node-a", HCA, hca_list(RAILS))
    check_installation(ask)
    figures = check_changes(cluster, helm)
    check_break_glass(cluster, helm)
    check_uninstall(cluster, helm)
    cluster.clear("chart")
    return figures
