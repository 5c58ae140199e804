# SPDX-License-Identifier: Apache-2.0
"""docs/operate/install.md on Helm, with the chart's defaults, where nothing is installed."""
import os
import subprocess

from scenarios.removal import KINDS, commands
from session import SOURCE, expect, pod

NAME = "helm: the chart's programs become ready, a pod has its values, and nothing is left"


def run(session):
    tools = subprocess.run([SOURCE / "tests/chart/tools/build"], capture_output=True, text=True, check=True).stdout.strip()
    os.environ["PATH"] = f"{tools}:{os.environ['PATH']}"
    install, uninstall = commands("With Helm"), commands("Uninstall", number=1)
    session.shell(install.replace("registry.example", "docker.io/library"))
    session.rolled_out("deployment/nccl-env-webhook", "daemonset/nccl-env-agent")
    session.clear("ml")  # its policy is gone
    session.command("nccl-env", "check", "--wait", "1m")
    session.opt_in("helm")
    expect("a pod", session.run(pod("helm", "train")).variables(), {"NCCL_IB_TIMEOUT": "22"})
    session.clear("helm")
    session.shell(uninstall)
    expect("what is left", [name for name in session.kubectl("get", "-o", "name", KINDS).split() if "nccl-env" in name], [])
