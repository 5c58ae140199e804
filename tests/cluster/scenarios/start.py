# SPDX-License-Identifier: Apache-2.0
"""The init container of pods that look for themselves: what it says, and a node without its image."""
from process import eventually
from session import expect, pod, statuses

NAME = "start: the init container's look, and its image missing"
RESOLVER = "nccl-env-resolve"


def resolver(session, name, namespace="start"):
    """The init container's status, {} before it has one."""
    found = [one for one in statuses(session.api.get("Pod", namespace, name)) if one["name"] == RESOLVER]
    return found[0] if found else {}


def looks(session):
    """This machine has no RDMA devices: constants come by file, and explain has the init container's own reasons."""
    process = session.run(pod("start", "look", host_network=False))
    expect("its variables", process.variables(), {"NCCL_IB_TIMEOUT": "22"})
    expect("its file", process.conf(), {"NCCL_IB_TIMEOUT": "22"})
    ended = resolver(session, "look")["state"]["terminated"]
    expect("its end", (ended["exitCode"], ended["reason"]), (0, "Completed"))
    told = session.explained("start", "look", code=1)
    omitted = {some["name"]: some["reason"] for one in told["containers"] if one["name"] == "main"
               for some in one["omitted"]}
    for variable in ("NCCL_IB_HCA", "NCCL_IB_GID_INDEX"):
        expect(f"explain has {variable}'s reason from the container", variable in omitted and variable in ended["message"], True)
    return process, ended["message"]


def restarts(session, process):
    """The file outlives the container: it is not looked for again."""
    session.kill(process)
    again = session.running("start", "look", after=process)
    expect("the file after a restart", again.conf(), {"NCCL_IB_TIMEOUT": "22"})


def without_image(session):
    """Where the image cannot be had the pod waits, explain says for what, and it starts once the image is there."""
    archive = session.state / "agent.tar"
    image = resolver(session, "look")["image"]
    session.ctr("images", "export", archive, image)
    session.ctr("images", "rm", "--sync", image)
    try:
        session.api.create(pod("start", "waits", host_network=False))
        eventually("its init container waits", lambda: "Image" in resolver(session, "waits").get(
            "state", {}).get("waiting", {}).get("reason", "") or "Pull" in resolver(session, "waits").get(
                "state", {}).get("waiting", {}).get("reason", ""), limit=60)
        told = session.explained("start", "waits", code=1)
        expect("explain", (told["good"], told["state"]), (False, "not started"))
        # A pod that needs no look does not wait for the image.
        session.run(pod("start", "host"))
    finally:
        session.ctr("images", "import", archive)
    session.running("start", "waits")


def run(session):
    session.opt_in("start", exposure="SubInterface")
    process, _ = looks(session)
    restarts(session, process)
    without_image(session)
    session.clear("start")
