#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Alert rules, runbooks and dashboard hold together: promtool takes the rules, each alert fires in its case and in no
other (alerts.py), each has a section in docs/operate/runbooks.md, and every metric that a rule, the dashboard or a runbook
names is one of docs/reference/webhook.md or docs/reference/agent.md.

  check.py [PROMTOOL]

Rules and cases that passed are not tried again until they or promtool change."""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import alerts  # noqa: E402
from files import DASHBOARD, SOURCE, documented_metrics, expressions, metrics_in, rule_groups  # noqa: E402

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "nccl-env" / "alerts"


def alert_rules():
    return {rule["alert"]: rule for group in rule_groups() for rule in group["rules"]}


def check_rules(promtool):
    rules = yaml.safe_dump({"groups": rule_groups()})
    # JSON is YAML, and written in a tenth of the time.
    tests = {re.sub("[^A-Za-z]+", "-", name): json.dumps(
        {"rule_files": ["rules.yaml"], "evaluation_interval": "2m", "tests": [test]}) for name, test in alerts.unit_tests()}
    version = subprocess.run([promtool, "--version"], capture_output=True, text=True, check=True)
    key = json.dumps([version.stdout, version.stderr, rules, tests])
    passed = CACHE / hashlib.sha256(key.encode()).hexdigest()
    if passed.exists():
        return
    problems = list(try_rules(promtool, rules, tests))
    yield from problems
    if not problems:
        CACHE.mkdir(parents=True, exist_ok=True)
        passed.touch()


def try_rules(promtool, rules, tests):
    with tempfile.TemporaryDirectory(prefix="nccl-env-alerts.") as folder:
        path = pathlib.Path(folder) / "rules.yaml"
        path.write_text(rules)
        yield from run(promtool, "check", "rules", "--lint-fatal", path)
        for name, test in tests.items():
            (path.parent / f"{name}.yaml").write_text(test)
        yield from run(promtool, "test", "rules", *(path.parent / f"{name}.yaml" for name in sorted(tests)))


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        yield f"{' '.join(str(part) for part in command[:3])}:\n{done.stdout}{done.stderr}"


def check_cases():
    named, cased = set(alert_rules()), set(alerts.CASES)
    yield from (f"{alert}: no case in tests/monitoring/alerts.py" for alert in sorted(named - cased))
    yield from (f"{alert}: a case for an alert that is not there" for alert in sorted(cased - named))


PAGE = "docs/operate/runbooks.md"


def check_annotations():
    page = (SOURCE / PAGE).read_text()
    sections = {title: text for title, text in re.findall(r"^## (NcclEnv\w+)\n(.*?)(?=^## |\Z)", page, re.M | re.S)}
    critical = set(re.findall(r"NcclEnv\w+", re.search(r"^\| critical: .*$", page, re.M)[0]))
    for alert, rule in alert_rules().items():
        told = rule["annotations"]
        if rule["labels"]["severity"] != ("critical" if alert in critical else "warning"):
            yield f"{alert}: severity {rule['labels']['severity']}, and {PAGE} says otherwise"
        if "kubectl " not in told.get("description", "") or not told.get("summary"):
            yield f"{alert}: its description has no command, or it has no summary"
        yield from check_runbook(alert, sections.get(alert, ""))
    yield from (f"{PAGE}: {title} is no alert" for title in sorted((set(sections) | critical) - set(alert_rules())))


def check_runbook(alert, section):
    """What it means, a block to look, and at its end one to mend, each of which a shell reads."""
    parts = re.fullmatch(r"\w[^`]*(?:`[^`\n]+`[^`]*)*?\n\n(```sh\n.*?^```\n).*?(```sh\n(?:(?!```).)*```)\s*", section,
                         re.M | re.S)
    if not parts:
        yield f"{PAGE}: {alert} is not a paragraph, a block to look, and at its end a block to mend"
        return
    for block in re.findall(r"^```sh\n(.*?)^```$", section, re.M | re.S):
        read = subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True)
        if read.returncode:
            yield f"{PAGE}: {alert}: {read.stderr.strip()}"


def check_metrics():
    known = documented_metrics()
    for where, expression in expressions():
        yield from (f"{where}: {name} is no metric of docs/reference/webhook.md or docs/reference/agent.md"
                    for name in sorted(metrics_in(expression) - known))


def check_dashboard():
    panels = [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]
    identifiers = [panel["id"] for panel in panels]
    if len(set(identifiers)) != len(identifiers):
        yield "dashboard: an id is there twice"
    taken = {}
    for panel in panels:
        if not panel.get("description"):
            yield f"dashboard: {panel['title']} has no description"
        place = panel["gridPos"]
        for cell in ((x, y) for x in range(place["x"], place["x"] + place["w"])
                     for y in range(place["y"], place["y"] + place["h"])):
            if cell[0] >= 24 or taken.setdefault(cell, panel["title"]) != panel["title"]:
                yield f"dashboard: {panel['title']} overlaps {taken.get(cell, 'the edge')}"
                break


def main():
    promtool = sys.argv[1] if len(sys.argv) > 1 else "promtool"
    found = [problem for check in (check_cases(), check_annotations(), check_metrics(), check_dashboard(),
                                   check_rules(promtool)) for problem in check]
    for problem in found:
        print(problem)
    print(f"{len(alert_rules())} alerts, {sum(1 for _ in expressions())} expressions, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
