# SPDX-License-Identifier: Apache-2.0
"""docs/operate/install.md on leaving, while a pod runs. Nothing is installed after it."""
import re

from process import Failed
from session import SOURCE, expect, pod

NAME = "removal: to the last object, and running pods keep what they have"
KINDS = ("crds,clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations,"
         "validatingadmissionpolicies,validatingadmissionpolicybindings,priorityclasses,namespaces")


def commands(heading, number=0):
    """A block of commands below a heading of the page."""
    text = (SOURCE / "docs/operate/install.md").read_text()
    below = re.search(rf"^#+ {heading}\n.*", text, re.S | re.M)[0]
    return re.findall(r"```sh\n(.*?)```", below, re.S)[number]


def steps():
    """The commands of the three steps under Uninstall."""
    return [part for part in re.split(r"^# .*\n", commands("Uninstall"), flags=re.M) if part.strip()]


def uninstall(session):
    """The three steps, if anything is installed; the second ends, because no pod waits."""
    if session.kubectl("get", "namespace", "nccl-env", "--ignore-not-found"):
        for step in steps():
            session.shell(step)


def run(session):
    session.opt_in("removal")
    process = session.run(pod("removal", "train"))
    before = process.has()
    uninstall(session)
    left = [name for name in session.kubectl("get", "-o", "name", KINDS).split() if "nccl-env" in name]
    if left:
        raise Failed(f"left behind: {left}")
    expect("a running pod", process.has(), before)
    session.kill(process)
    expect("its container, started again", session.running("removal", "train", after=process).has(), before)
    expect("a new pod", session.run(pod("removal", "after")).has(), {})
    session.clear("removal")
