# SPDX-License-Identifier: Apache-2.0
"""The init container of pods that look for themselves: what it says, its image in a registry with a password, which a
namespace may have no pull secret for, and one that is killed."""
import json
import threading
import time

from process import Failed, eventually
from registry import Registry
from session import SOURCE, expect, pod

NAME = "pull: the init container's look, one without the registry's password, and one that is killed"
DEPLOYMENT = "deployment/nccl-env-webhook"
WRITTEN = {"NCCL_IB_TIMEOUT": "22"}


def looks(session):
    """This machine has no RDMA devices: constants come by file, and explain has the init container's own reasons. The file
    outlives the container: it is not looked for again."""
    process = session.run(pod("pull", "look", host_network=False))
    expect("its variables and its file", (process.variables(), process.conf()), (WRITTEN, WRITTEN))
    ended = session.resolver("pull", "look")["state"]["terminated"]
    expect("its end", (ended["exitCode"], ended["reason"]), (0, "Completed"))
    told = session.explained("pull", "look", code=1)
    omitted = {some["name"] for one in told["containers"] if one["name"] == "main" for some in one["omitted"]}
    for variable in ("NCCL_IB_HCA", "NCCL_IB_GID_INDEX"):
        expect(f"explain has {variable}'s reason from the container", variable in omitted and variable in ended["message"], True)
    session.kill(process)
    expect("the file after a restart", session.running("pull", "look", after=process).conf(), WRITTEN)


def resolver_image(session):
    said = json.loads(session.kubectl("-n", "nccl-env", "get", DEPLOYMENT, "-o", "json"))
    container, = said["spec"]["template"]["spec"]["containers"]
    return next(entry["value"] for entry in container["env"] if entry["name"] == "RESOLVER_IMAGE")


def set_resolver_image(session, image):
    session.kubectl("-n", "nccl-env", "set", "env", DEPLOYMENT, f"RESOLVER_IMAGE={image}")
    session.rolled_out(DEPLOYMENT)


def gets(session, image):
    made = session.api.create(pod("pull", "probe", host_network=False), "?dryRun=All")
    return [some["image"] for some in made["spec"].get("initContainers", [])] == [image]


def without_secret(session, registry, image):
    """The pod waits, and explain says for which image; with the secret in its account's list the next one starts."""
    session.api.create(pod("pull", "waits", host_network=False))
    eventually("its image is refused", lambda: session.resolver("pull", "waits").get("state", {}).get("waiting", {}).get(
        "reason") in ("ErrImagePull", "ImagePullBackOff"))
    told = session.explained("pull", "waits", code=1)
    expect("explain", (told["good"], told["state"]), (False, "not started"))
    if image not in json.dumps(told):
        raise Failed(f"explain does not name {image}: {told}")
    if not registry.turned_away:
        raise Failed("the registry was not asked")
    session.run(pod("pull", "host"))  # a pod that needs no look does not wait for the image
    session.api.create(registry.pull_secret("registry", "pull"))
    session.kubectl("-n", "pull", "patch", "serviceaccount", "default", "-p", '{"imagePullSecrets": [{"name": "registry"}]}')
    expect("with the secret", session.run(pod("pull", "pulls", host_network=False)).conf(), WRITTEN)


class Killer(threading.Thread):
    """Ends the first process that runs our init container's program."""

    def __init__(self, session):
        super().__init__(daemon=True)
        self.session, self.known = session, set(session.tasks())
        self.killed, self.end = False, time.monotonic() + 60

    def run(self):
        while not self.killed and time.monotonic() < self.end:
            for container in self.session.tasks() - self.known:
                process = self.session.process_of("//" + container)
                if process and b"resolve" in process.command_line():
                    self.session.kill(process)
                    self.killed = True


def killed(session):
    """The kubelet starts it again, and the pod has its file. One takes 30 ms, so that some are not caught."""
    for name in (f"killed-{attempt}" for attempt in range(30)):
        killer = Killer(session)
        killer.start()
        process = session.run(pod("pull", name, host_network=False))
        if killer.killed:
            break
        killer.end = 0
    else:
        raise Failed("no init container was caught")
    ended = session.resolver("pull", name)
    expect("its starts", ended["restartCount"], 1)
    expect("its file", process.conf(), WRITTEN)


def run(session):
    before = resolver_image(session)
    registry = Registry(locked=True)
    registry.keep_image(SOURCE / "build/image/nccl-env-agent.oci.tar", "nccl-env-agent", "1")
    image = f"{registry.host}/nccl-env-agent:1"
    session.opt_in("pull", exposure="SubInterface")
    looks(session)
    killed(session)
    try:
        set_resolver_image(session, image)
        eventually("pods get the registry's image", lambda: gets(session, image))
        without_secret(session, registry, image)
    finally:
        set_resolver_image(session, before)
        registry.close()
    session.clear("pull")
