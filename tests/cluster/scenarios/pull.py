# SPDX-License-Identifier: Apache-2.0
"""The init container's image in a registry with a password, which a namespace may have no pull secret for; and an init
container that is killed."""
import json
import threading
import time

from process import Failed, eventually
from registry import Registry
from scenarios.start import resolver
from session import SOURCE, expect, pod

NAME = "pull: an init container without the registry's password, and one that is killed"
DEPLOYMENT = "deployment/nccl-env-webhook"
WRITTEN = {"NCCL_IB_TIMEOUT": "22"}


def resolver_image(session):
    said = json.loads(session.kubectl("-n", "nccl-env", "get", DEPLOYMENT, "-o", "json"))
    container, = said["spec"]["template"]["spec"]["containers"]
    return next(entry["value"] for entry in container["env"] if entry["name"] == "RESOLVER_IMAGE")


def set_resolver_image(session, image):
    session.kubectl("-n", "nccl-env", "set", "env", DEPLOYMENT, f"RESOLVER_IMAGE={image}")
    session.kubectl("-n", "nccl-env", "rollout", "status", "--timeout=120s", DEPLOYMENT)


def gets(session, image):
    made = session.api.create(pod("pull", "probe", host_network=False), "?dryRun=All")
    return [some["image"] for some in made["spec"].get("initContainers", [])] == [image]


def waiting(session, name):
    return resolver(session, name, "pull").get("state", {}).get("waiting", {}).get("reason", "")


def without_secret(session, registry, image):
    """The pod waits, and explain says for which image; with the secret in its account's list the next one starts."""
    session.api.create(pod("pull", "waits", host_network=False))
    eventually("its image is refused", lambda: waiting(session, "waits") in ("ErrImagePull", "ImagePullBackOff"))
    told = session.explained("pull", "waits", code=1)
    expect("explain", (told["good"], told["state"]), (False, "not started"))
    if image not in json.dumps(told):
        raise Failed(f"explain does not name {image}: {told}")
    if not registry.turned_away:
        raise Failed("the registry was not asked")
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
    for name in (f"killed-{attempt}" for attempt in range(10)):
        killer = Killer(session)
        killer.start()
        process = session.run(pod("pull", name, host_network=False))
        if killer.killed:
            break
        killer.end = 0
    else:
        raise Failed("no init container was caught")
    ended = resolver(session, name, "pull")
    expect("its starts", ended["restartCount"], 1)
    expect("its file", process.conf(), WRITTEN)


def run(session):
    before = resolver_image(session)
    registry = Registry(locked=True)
    registry.keep_image(SOURCE / "build/image/nccl-env-agent.oci.tar", "nccl-env-agent", "1")
    image = f"{registry.host}/nccl-env-agent:1"
    session.opt_in("pull", exposure="SubInterface")
    killed(session)
    try:
        set_resolver_image(session, image)
        eventually("pods get the registry's image", lambda: gets(session, image))
        without_secret(session, registry, image)
    finally:
        set_resolver_image(session, before)
        registry.close()
    session.clear("pull")
