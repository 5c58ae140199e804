# SPDX-License-Identifier: Apache-2.0
"""What monitoring is made of: rules, the dashboard, and the pages that say which metrics there are."""
import json
import pathlib
import re

import yaml

SOURCE = pathlib.Path(__file__).resolve().parents[2]
COMPONENT = SOURCE / "manifests/components/monitoring"
DASHBOARD = COMPONENT / "dashboard.json"
PROMETHEUS_OWN = {"up"}


def rule_groups():
    return yaml.safe_load((COMPONENT / "rules.yaml").read_text())["spec"]["groups"]


def expressions():
    """Where it stands, and the expression; variables of the dashboard are filled in."""
    for group in rule_groups():
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]
    dashboard = json.loads(DASHBOARD.read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield f"dashboard: {panel['title']}", target["expr"].replace("$__rate_interval", "2m")


def metrics_in(expression):
    """Names of metrics, without what a histogram or an info adds to them."""
    names = set(re.findall(r"\b(nccl_env_\w+)", expression)) | (set(re.findall(r"\bup\b", expression)) & PROMETHEUS_OWN)
    return {re.sub(r"_seconds_(bucket|sum|count)$", "_seconds", name) for name in names}


def documented_metrics():
    pages = [SOURCE / "docs/reference/webhook.md", SOURCE / "docs/reference/agent.md"]
    return PROMETHEUS_OWN.union(*(re.findall(r"^\| `(nccl_env_\w+)`", page.read_text(), re.M)
                                  for page in pages if page.exists()))
