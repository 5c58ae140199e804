# SPDX-License-Identifier: Apache-2.0
"""Four hours of a healthy cluster with two replicas and two nodes, and for each alert what has to change in them for
it to fire. Values are promtool's: a minute between two, starting at 1970-01-01T00:00."""

MINUTES = 240
STEADY, DAYS = f"x{MINUTES}", 86400


def level(value):
    return f"{value}+0{STEADY}"


def counting(per_minute):
    return f"0+{per_minute}{STEADY}"


def from_minute(minute, before, after):
    return f"{before}+0x{minute - 1} {after}+0x{MINUTES - minute}"


def counting_from(minute, per_minute):
    return f"0+0x{minute - 1} 0+{per_minute}x{MINUTES - minute}"


def on(*instances, job="nccl-env-webhook"):
    def series(name, values, /, **labels):
        return {f"{name}{{{','.join(f'{key}={chr(34)}{value}{chr(34)}' for key, value in named.items())}}}": values
                for named in ({"job": job, **instance, **labels} for instance in instances)}
    return series


A, B = {"instance": "10.1.0.1:8080"}, {"instance": "10.1.0.2:8080"}
NODE_1 = {"instance": "10.2.0.1:8081", "node": "gpu-1"}
NODE_2 = {"instance": "10.2.0.2:8081", "node": "gpu-2"}
both, one = on(A, B), on(A)
agents, agent = on(NODE_1, NODE_2, job="nccl-env-agent"), on(NODE_1, job="nccl-env-agent")
nodes = on({"node": "gpu-1"}, {"node": "gpu-2"}, job="kube-state-metrics")
api = on({"instance": "10.3.0.1:6443"}, job="apiserver")
FAILED_OPEN = "apiserver_admission_webhook_fail_open_count"
REFUSED = "apiserver_admission_webhook_rejection_count"
UNANSWERED = {"type": "admit", "operation": "CREATE", "error_type": "calling_webhook_error", "rejection_code": "500"}
KINDS = ("NcclPolicy", "NodeFabric", "Namespace")


HEALTHY = {
    **both("up", level(1)), **both("nccl_env_ready", level(1)),
    **both("nccl_env_responses_total", counting(600), **{"class": "2xx"}),
    **both("nccl_env_responses_total", counting(0), **{"class": "4xx"}),
    **both("nccl_env_responses_total", counting(0), **{"class": "5xx"}),
    **both("nccl_env_connections_total", counting(10)),
    # Clients go away in the middle of a handshake every now and then.
    **both("nccl_env_tls_handshakes_failed_total", counting(1)),
    **both("nccl_env_connections_refused_total", level(0)), **both("nccl_env_accept_errors_total", level(0)),
    **both("nccl_env_connections_evicted_total", level(0), cause="idle"),
    **both("nccl_env_connections_evicted_total", counting(1), cause="unread"),  # a client that hangs
    **both("nccl_env_certificate_not_after_timestamp_seconds", level(40 * DAYS)),
    **both("nccl_env_certificates_last_success_timestamp_seconds", counting(60)),
    **{key: value for kind in KINDS for key, value in {
        **both("nccl_env_watch_in_contact", "1+0x100 0+0x3 1+0x135", kind=kind),  # an API server's restart
        **both("nccl_env_watch_objects_refused", level(0), kind=kind)}.items()},
    **both("nccl_env_store_files_refused", level(0)), **both("nccl_env_store_in_sync", level(1)),
    **both("nccl_env_tables_stale", "0+0x100 1+0x5 0+0x133"),  # a node that was restarted, slowly
    **both("nccl_env_decisions_total", counting(300), resource="pod", outcome="inject", reason="none"),
    # Decisions of users raise no alarm, however often.
    **both("nccl_env_decisions_total", counting(50), resource="pod", outcome="skip", reason="NotRdma"),
    **both("nccl_env_decisions_total", counting(50), resource="pod", outcome="skip", reason="OptedOut"),
    **both("nccl_env_decisions_total", level(0), resource="pod", outcome="skip", reason="PolicyMissing"),
    **both("nccl_env_decisions_total", level(0), resource="pod", outcome="skip", reason="PolicyInvalid"),
    **both("nccl_env_decisions_total", level(0), resource="binding", outcome="deny", reason="NoTable"),
    **both("nccl_env_variables_total", counting(300), variable="NCCL_IB_HCA", reason="none"),
    **both("nccl_env_variables_total", counting(30), variable="NCCL_IB_GID_INDEX", reason="UserSet"),
    **both("nccl_env_variables_total", counting(30), variable="NCCL_IB_GID_INDEX", reason="InfiniBand"),
    **both("nccl_env_variables_total", level(0), variable="NCCL_IB_HCA", reason="StaleTable"),
    **api("up", level(1)), **api(FAILED_OPEN, level(3), name="pods.nccl-env.io", type="admit"),
    **api(FAILED_OPEN, counting(5), name="another.example.com", type="admit"),
    **api(REFUSED, counting(5), name="another.example.com", **UNANSWERED),
    # A refusal that is an answer: onUnresolved, which has an alert of its own.
    **api(REFUSED, counting(5), name="binding.nccl-env.io", **{**UNANSWERED, "error_type": "no_error"}),
    **agents("up", level(1)),
    **agents("nccl_env_agent_last_publish_timestamp_seconds",
             " ".join(f"{hour * 3600}+0x59" for hour in range(4)) + " 14400"),
    **agents("nccl_env_agent_ports", level(8), state="Active"),
    **agents("nccl_env_agent_ports", level(1), state="Down"),
    # Just now a Node was registered again.
    **agents("nccl_env_agent_table_present", "1+0x100 0+0x1 1+0x137"),
    **nodes("kube_node_status_allocatable", level(8), resource="rdma_hca"),
    **agents("nccl_env_agent_gid_index_moved", level(0)),
    **agents("nccl_env_agent_problems", level(0)), **agents("nccl_env_agent_verbs", level(1)),
}

GONE = None
AGENTS_GONE = {series: GONE for series in HEALTHY if 'job="nccl-env-agent"' in series}

# Alert: what is different, and which other alerts follow from it.
CASES = {
    "NcclEnvNoWebhookReady": (
        {**both("up", from_minute(21, 1, 0)), **both("nccl_env_ready", "1+0x20 stale")}, ["NcclEnvWebhookReplicaDown"]),
    "NcclEnvWebhookReplicaDown": (one("nccl_env_ready", from_minute(21, 1, 0)), []),
    "NcclEnvResponsesFailing": (both("nccl_env_responses_total", counting_from(21, 12), **{"class": "5xx"}), []),
    "NcclEnvHandshakesFailing": (both("nccl_env_tls_handshakes_failed_total", counting(9)), []),
    "NcclEnvConnectionsRefused": (
        one("nccl_env_connections_evicted_total", counting_from(21, 5), cause="idle"), []),
    "NcclEnvCertificateEndsSoon": (one("nccl_env_certificate_not_after_timestamp_seconds", level(13 * DAYS)), []),
    "NcclEnvCertificateEnds": (one("nccl_env_certificate_not_after_timestamp_seconds", level(2 * DAYS)),
                               ["NcclEnvCertificateEndsSoon"]),
    "NcclEnvCertificatesNotKept": (
        one("nccl_env_certificates_last_success_timestamp_seconds", "0+60x10 600+0x229"), []),
    "NcclEnvWatchOutOfContact": (one("nccl_env_watch_in_contact", from_minute(220, 1, 0), kind="NodeFabric"), []),
    "NcclEnvObjectsRefused": (both("nccl_env_watch_objects_refused", from_minute(220, 0, 1), kind="NcclPolicy"), []),
    # One replica's; the other one is cut off from the API server, and ages don't count there.
    "NcclEnvTablesStale": (one("nccl_env_tables_stale", from_minute(200, 0, 1)), []),
    "NcclEnvFailedOpen": (api(FAILED_OPEN, counting_from(236, 2), name="pods.nccl-env.io", type="admit"), []),
    "NcclEnvFailedClosed": (api(REFUSED, counting_from(236, 2), name="strict-pods.nccl-env.io", **UNANSWERED), []),
    "NcclEnvPodsHeld": (one("nccl_env_decisions_total", counting_from(200, 8), resource="binding", outcome="deny",
                            reason="NoTable"), []),
    "NcclEnvPodsWithoutValues": (one("nccl_env_variables_total", counting_from(200, 1), variable="NCCL_IB_HCA",
                                     reason="StaleTable"), []),
    "NcclEnvPolicyUnusable": (one("nccl_env_decisions_total", counting_from(200, 1), resource="pod", outcome="skip",
                                  reason="PolicyMissing"), []),
    "NcclEnvReferenceDropped": (one("nccl_env_decisions_total", counting_from(200, 1), resource="pod", outcome="inject",
                                    reason="ReferenceDropped"), []),
    "NcclEnvAgentsMissing": (AGENTS_GONE, ["NcclEnvTableMissing"]),
    "NcclEnvAgentDown": (agent("up", from_minute(200, 1, 0)), []),
    "NcclEnvAgentNotPublishing": (agent("nccl_env_agent_last_publish_timestamp_seconds", level(0)), []),
    "NcclEnvTableMissing": (agent("nccl_env_agent_table_present", from_minute(200, 1, 0)), []),
    "NcclEnvAgentProblems": (agent("nccl_env_agent_problems", from_minute(200, 0, 2)), []),
    "NcclEnvGidIndexMoved": (agent("nccl_env_agent_gid_index_moved", from_minute(200, 0, 1)), []),
    "NcclEnvPortDown": (agent("nccl_env_agent_ports", from_minute(200, 8, 7), state="Active"), []),
}

# Further ways to an alert.
ALSO = {
    "a hook's first failure": ("NcclEnvFailedOpen", api(FAILED_OPEN, "_x235 1+0x5", name="binding.nccl-env.io",
                                                        type="admit")),
    "a strict hook's first failure": ("NcclEnvFailedClosed", api(
        REFUSED, "_x235 1+0x5", name="strict-binding.nccl-env.io", **UNANSWERED)),
}

# Series that raise no alarm although something is missing.
SILENT = {
    "an API server that Prometheus just came to know": {
        **api("up", "_x235 1+0x5"), **api(FAILED_OPEN, "_x235 3+0x5", name="pods.nccl-env.io", type="admit")},
    "API servers that Prometheus does not scrape": {
        series: GONE for series in HEALTHY if 'job="apiserver"' in series},
    "one replica, just replaced": one("nccl_env_ready", from_minute(235, 1, 0)),
    "an agent's first minutes on a node whose table is old": both("nccl_env_tables_stale", from_minute(230, 0, 1)),
    "agents without /dev/infiniband": agents("nccl_env_agent_verbs", level(0)),
    "a device that went while it was read": agent("nccl_env_agent_problems", from_minute(230, 0, 1)),
    "certificates from files, tables from a directory": {
        series: GONE for series in HEALTHY if any(part in series for part in ("_ca_", "_certificates_", "_watch_"))},
    "a night without pods": {series: level(5) for series in HEALTHY if any(
        part in series for part in ("_decision", "_variables_", "_responses_", "_connections_total", "_tls_"))},
    "a node without RDMA devices, whose agent writes nothing": {
        **agent("nccl_env_agent_table_present", level(0)), **agent("nccl_env_agent_ports", level(0), state="Active"),
        **agent("nccl_env_agent_ports", level(0), state="Down")},
    "a cluster without kube-state-metrics": nodes("kube_node_status_allocatable", GONE, resource="rdma_hca"),
    "an unused port": agent("nccl_env_agent_ports", level(4), state="Down"),
}


def unit_test(changes, firing):
    """One test of promtool: exactly these alerts fire in the end."""
    changed = {**HEALTHY, **changes}
    expected = [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in sorted(firing)]
    return {"interval": "1m",
            "input_series": [{"series": series, "values": values} for series, values in changed.items() if values],
            "promql_expr_test": [{"expr": 'group by (alertname) (ALERTS{alertstate="firing"})',
                                  "eval_time": f"{MINUTES}m", "exp_samples": expected}]}


def unit_tests():
    """Name and test of each."""
    yield "healthy", unit_test({}, [])
    for alert, (changes, others) in CASES.items():
        yield alert, unit_test(changes, [alert, *others])
    for name, (alert, changes) in ALSO.items():
        yield name, unit_test(changes, [alert])
    for name, changes in SILENT.items():
        yield name, unit_test(changes, [])
