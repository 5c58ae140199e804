# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus on real programs: every metric is there, every query has an answer, and faults become alerts."""
import http.client
import signal
import socket
import ssl
import subprocess
import urllib.request

from agents import write_sys
from objects import expect_in, pod, policy, table
from process import PATIENCE, Failed, eventually
from prometheus import Prometheus
from scenarios.identity import agents

from files import documented_metrics, expressions

NAME = "9 monitoring: Prometheus scrapes both programs, and faults become alerts"
RAILS = ["mlx5_1", "mlx5_2"]


def eventually_fires(prometheus, alert, *parts):
    """Waits for the alert, and checks that its sentences hold `parts`."""
    found = eventually(f"alert {alert}", lambda: prometheus.alerts().get(alert), pause=0.2)
    for some in found:
        told = " ".join(some["annotations"].values())
        if "{{" in told or "<error" in told or "<no value>" in told:
            raise Failed(f"{alert} tells {told!r}")
    expect_in(f"what {alert} tells", " ".join(" ".join(some["annotations"].values()) for some in found), *parts)


def check_names(prometheus):
    scraped = set(prometheus.get("label/__name__/values"))
    missing = sorted(name for name in documented_metrics() if not {name, f"{name}_bucket"} & scraped)
    if missing:
        raise Failed(f"metrics of the documentation that are not scraped: {', '.join(missing)}")


def check_queries(prometheus):
    """Every expression has an answer. The dashboard's expressions have data, except those that look for trouble."""
    answered = 0
    for where, expression in expressions():
        if where.startswith("dashboard") and " > 0" not in expression:
            eventually(f"data for {where}: {expression}", lambda: prometheus.query(expression))  # a second scrape
        answered += bool(prometheus.query(expression))
    return answered


def check_form(*ports):
    """promtool reports nothing about a whole /metrics: names, units, HELP and types."""
    for port in ports:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as reply:
            done = subprocess.run(["promtool", "check", "metrics"], input=reply.read(), capture_output=True)
        if done.returncode or done.stdout or done.stderr:
            raise Failed(f"promtool check metrics: {done.stdout.decode()}{done.stderr.decode()}")


def check_healthy(prometheus):
    """Nothing fires after the first evaluations, which took place before any scrape."""
    eventually("no alert without a fault", lambda: not prometheus.alerts(), pause=0.2)


def check_pods(cluster, prometheus):
    """Faults around tables and policies, as pods meet them."""
    api = cluster.api
    cluster.put_policy(policy("watched"))
    cluster.put_policy(policy("watched-deny", onUnresolved="Deny"))
    cluster.opt_in("watched", "watched")
    cluster.opt_in("held", "watched-deny")
    cluster.plane.add_namespace("nowhere", {"nccl-env.io/policy": "no-such-policy"})

    def knows(replica):
        replica.binding_annotations("nowhere", "node-a", cluster.authority())
        return [entry for entry in replica.decisions()
                if (entry["namespace"], entry["reason"]) == ("nowhere", "PolicyMissing")]
    for replica in cluster.webhooks.replicas.values():
        eventually(f"{replica.name} knows the namespace", lambda: knows(replica))
    api.create(pod("nowhere", "train", node="node-a"))
    eventually_fires(prometheus, "NcclEnvPolicyUnusable", "PolicyMissing")
    api.create(pod("watched", "train", node="node-c"))
    eventually_fires(prometheus, "NcclEnvPodsWithoutValues", "NCCL_IB_HCA, or ports in it, because of NoTable",
                     """grep '":"NoTable"'""")
    cluster.held(pod("held", "train", node="node-c"))
    eventually_fires(prometheus, "NcclEnvPodsHeld", "held because of NoTable")
    api.apply(table("node-c", RAILS, seconds_ago=4 * 3600))
    eventually_fires(prometheus, "NcclEnvTablesStale", "too old to count: 1")
    api.delete("NodeFabric", None, "node-c")


def check_requests(cluster, prometheus):
    """Somebody else than an API server on the admission port."""
    replica = cluster.webhooks.replicas["webhook-0"]
    port, context = replica.ports["admission_port"], ssl.create_default_context(cadata=cluster.authority())
    for _ in range(300):
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=PATIENCE)
        connection.request("POST", "/admit", "no review", {"Content-Type": "application/json"})
        if connection.getresponse().status != 400:
            raise Failed("a body that is no review was answered with another code than 400")
        connection.close()
    eventually_fires(prometheus, "NcclEnvResponsesFailing")
    for _ in range(2000):
        with socket.create_connection(("127.0.0.1", port)) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
            plain.recv(100)
    eventually_fires(prometheus, "NcclEnvHandshakesFailing")


def check_agent(agent, sys, prometheus):
    write_sys(sys, RAILS, 3)
    state = next((sys / "devices").glob("**/infiniband/mlx5_2/ports/1/state"))
    state.write_text("1: DOWN\n")
    state.with_name("link_layer").write_text("Carrier pigeon\n")
    eventually_fires(prometheus, "NcclEnvAgentProblems", "node-a cannot read all of its HCAs (1)")
    eventually_fires(prometheus, "NcclEnvPortDown", "Node node-a has 1 active", "kubectl get nf node-a")
    agent.end(signal.SIGKILL)
    eventually_fires(prometheus, "NcclEnvAgentDown", "node-a")


def check_webhooks(cluster, prometheus):
    webhooks = cluster.webhooks
    webhooks.end("webhook-1", signal.SIGKILL)
    eventually_fires(prometheus, "NcclEnvWebhookReplicaDown", str(webhooks.replicas["webhook-1"].ports["ops_port"]))
    webhooks.end("webhook-0", signal.SIGKILL)
    eventually_fires(prometheus, "NcclEnvNoWebhookReady")
    for name in list(webhooks.replicas):
        webhooks.start(name)


def watch(cluster, agent, sys):
    """How many expressions had data."""
    prometheus = Prometheus(cluster.directory / "prometheus", {
        "nccl-env-webhook": {f"127.0.0.1:{replica.ports['ops_port']}": {}
                             for replica in cluster.webhooks.replicas.values()},
        "nccl-env-agent": {f"127.0.0.1:{agent.port}": {"node": "node-a"}}})
    try:
        prometheus.wait_ready()
        check_names(prometheus)
        check_healthy(prometheus)
        answered = check_queries(prometheus)
        check_pods(cluster, prometheus)
        check_requests(cluster, prometheus)
        check_agent(agent, sys, prometheus)
        check_webhooks(cluster, prometheus)
    finally:
        prometheus.stop()
    return answered


def run(cluster):
    # Once the API server has been away for half a minute, a replica ignores the ages of tables for some minutes.
    for name in list(cluster.webhooks.replicas):
        cluster.webhooks.end(name, signal.SIGKILL)
        cluster.webhooks.start(name)
    pods = eventually("an agent's pod on each node", lambda: "node-a" in (found := agents(cluster)) and found)
    for some in cluster.api.list("NodeFabric"):
        cluster.api.delete("NodeFabric", None, some["metadata"]["name"])
    sys = cluster.directory / "sys"
    write_sys(sys, RAILS, 3)
    agent = cluster.agent("node-a", pods["node-a"], "watched-agent")
    try:
        eventually("the agent is ready", lambda: agent.ready_code() == 200)
        check_form(agent.port, *(replica.ports["ops_port"] for replica in cluster.webhooks.replicas.values()))
        answered = watch(cluster, agent, sys)
    finally:
        agent.end()
    cluster.clear("watched", "held", "nowhere")
    return f"{len(list(expressions()))} expressions, {answered} with data at once"
