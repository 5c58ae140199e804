# SPDX-License-Identifier: Apache-2.0
"""Beside a hook that drops what it does not know, called before ours and after it: pods have what they have without it, by
File where the references of EnvFile are emptied."""
from older_hook import OlderHook
from pki import Pki
from process import Failed, eventually
from scenarios import envfile
from session import expect, pod

NAME = "older: values pass a hook of older types, by each delivery"
CASES = {"older-file": "Host", "older-look": "SubInterface", "older-env": "Host"}


def processes(session, what):
    """What a pod of each namespace has, with the list in one form."""
    found = {namespace: session.run(pod(namespace, what, host_network=exposure == "Host")).has()
             for namespace, exposure in CASES.items()}
    return {namespace: {name: value.lstrip("=") for name, value in has.items()} for namespace, has in found.items()}


def run(session):
    session.opt_in("older-file", delivery=["File"])
    session.opt_in("older-look", CASES["older-look"])
    envfile.opt_in(session, "older-env")
    alone = processes(session, "alone")
    hook = OlderHook(Pki(session.state / "pki-older"))
    try:
        for name in ("aaa-older", "zzz-older"):
            for namespace in CASES:
                session.api.apply(hook.of(f"{name}-{namespace}", namespace))
            asked = hook.asked
            eventually(f"{name} is called", lambda: session.is_injected(pod("older-file", "probe")) and hook.asked > asked)
            expect(f"beside {name}", processes(session, name), alone)
            if hook.asked <= asked:
                raise Failed(f"{name} was not called")
            for namespace in CASES:
                session.api.delete("MutatingWebhookConfiguration", None, f"{name}-{namespace}")
    finally:
        hook.close()
    session.clear(*CASES)
