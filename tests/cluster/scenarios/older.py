# SPDX-License-Identifier: Apache-2.0
"""Beside a hook that drops what it does not know, called before ours and after it: pods have what they have without it."""
from older_hook import OlderHook
from pki import Pki
from process import Failed, eventually
from session import expect, pod

NAME = "older: values by file and by the init container pass a hook of older types"
KIND = "MutatingWebhookConfiguration"
CASES = {"older-file": ("Host", ["File"]), "older-look": ("SubInterface", None)}


def processes(session, what):
    """What a pod of each namespace has."""
    return {namespace: session.run(pod(namespace, what, host_network=exposure == "Host")).has()
            for namespace, (exposure, _) in CASES.items()}


def run(session):
    for namespace, (exposure, delivery) in CASES.items():
        session.opt_in(namespace, exposure, **({"delivery": delivery} if delivery else {}))
    alone = processes(session, "alone")
    certificate = Pki(session.state / "pki-older")
    hook = OlderHook(certificate.issue("older", "older", addresses=("IP:127.0.0.1",)), certificate.ca)
    try:
        for name in ("aaa-older", "zzz-older"):
            for namespace in CASES:
                session.api.apply(hook.configuration(f"{name}-{namespace}", namespace))
            asked = hook.asked
            eventually(f"{name} is called", lambda: session.is_injected(pod("older-file", "probe")) and hook.asked > asked)
            expect(f"beside {name}", processes(session, name), alone)
            if hook.asked <= asked:
                raise Failed(f"{name} was not called")
            for namespace in CASES:
                session.api.delete(KIND, None, f"{name}-{namespace}")
    finally:
        hook.close()
    session.clear(*CASES)
