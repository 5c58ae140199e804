# SPDX-License-Identifier: Apache-2.0
"""docs/operate/install.md on leaving, while a pod runs. Nothing is installed after it."""
import pathlib
import re

from process import Failed
from session import expect, pod

SOURCE = pathlib.Path(__file__).resolve().parents[3]
NAME = "removal: to the last object, and running pods keep what they have"
KINDS = ("crds,clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations,"
         "validatingadmissionpolicies,validatingadmissionpolicybindings,priorityclasses,namespaces")


def steps():
    """The commands of the three steps under Uninstall."""
    text = (SOURCE / "docs/operate/install.md").read_text()
    block = re.search(r"## Uninstall.*?```sh\n(.*?)```", text, re.S)[1]
    return [part for part in re.split(r"^# .*\n", block, flags=re.M) if part.strip()]


def run(session):
    session.opt_in("removal")
    process = session.run(pod("removal", "train"))
    before = process.has()
    first, pending, rest = steps()
    session.command("bash", "-euo", "pipefail", "-c", f"cd {SOURCE}; {first}")
    expect("pods that wait", session.command("bash", "-euo", "pipefail", "-c", pending), "")
    session.command("nccl-env", "check", "--uninstall")
    session.command("bash", "-euo", "pipefail", "-c", f"cd {SOURCE}; {rest}")
    left = [name for name in session.kubectl("get", "-o", "name", KINDS).split() if "nccl-env" in name]
    if left:
        raise Failed(f"left behind: {left}")
    expect("a running pod", process.has(), before)
    session.kill(process)
    expect("its container, started again", session.running("removal", "train", after=process).has(), before)
    expect("a new pod", session.run(pod("removal", "after")).has(), {})
    session.clear("removal")
