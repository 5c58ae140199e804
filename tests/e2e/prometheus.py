# SPDX-License-Identifier: Apache-2.0
"""Debian's Prometheus on loopback, with our alert rules, over targets of this machine."""
import json
import shutil
import sys
import urllib.error
import urllib.parse
import urllib.request

from cluster import SOURCE
from process import PATIENCE, Failed, Process, eventually, free_port

sys.path.insert(0, str(SOURCE / "tests/monitoring"))
from files import rule_groups  # noqa: E402

# A fault shows after a second, and its alert, too: rules have no `for` here, which tests/monitoring/alerts.py tests.
INTERVAL = "1s"


class Prometheus:
    def __init__(self, directory, targets):
        """`targets`: job -> address -> more labels of that address."""
        program = shutil.which("prometheus")
        if not program:
            raise Failed("there is no prometheus in PATH")
        directory.mkdir(exist_ok=True)
        groups = [{**group, "rules": [{key: value for key, value in rule.items() if key != "for"}
                                      for rule in group["rules"]]} for group in rule_groups()]
        (directory / "rules.yaml").write_text(json.dumps({"groups": groups}))
        (directory / "prometheus.yaml").write_text(json.dumps({
            "global": {"scrape_interval": INTERVAL, "scrape_timeout": INTERVAL, "evaluation_interval": INTERVAL},
            "rule_files": [str(directory / "rules.yaml")],
            "scrape_configs": [{"job_name": job, "static_configs": [
                {"targets": [address], "labels": labels} for address, labels in addresses.items()]}
                for job, addresses in targets.items()]}))
        self.address = f"127.0.0.1:{free_port()}"
        self.process = Process("prometheus", [
            program, f"--config.file={directory / 'prometheus.yaml'}", f"--storage.tsdb.path={directory / 'data'}",
            f"--web.listen-address={self.address}", "--log.level=warn"], directory / "prometheus.log")
        self.count = sum(len(addresses) for addresses in targets.values())

    def wait_ready(self):
        """All targets were scraped twice, as rates need it."""
        eventually("prometheus scrapes all targets", self.scrapes_all)
        eventually("rates", lambda: self.query("rate(nccl_env_connections_total[1m])"))

    def get(self, path, **parameters):
        """`data` of an answer."""
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE) as reply:
                return json.load(reply)["data"]
        except urllib.error.HTTPError as error:
            raise Failed(f"{path} {parameters}: {error.read().decode()}") from None

    def query(self, expression):
        return self.get("query", query=expression)["result"]

    def scrapes_all(self):
        self.process.expect_alive()
        try:
            return len(self.query("up == 1")) == self.count
        except (OSError, Failed):
            return False  # not listening yet, or not ready

    def alerts(self):
        """The alerts that fire, by name."""
        firing = {}
        for alert in self.get("alerts")["alerts"]:
            firing.setdefault(alert["labels"]["alertname"], []).append(alert)
        return firing

    def stop(self):
        self.process.end()
