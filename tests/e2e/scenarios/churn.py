# SPDX-License-Identifier: Apache-2.0
"""Many pods while everything changes: tables, policies, a replica, certificates; then the API server itself. The
replicas answer the API server alone, by its certificate."""
import concurrent.futures
import http.client
import itertools
import os
import signal
import ssl
import threading
import time

from api import Refused
from objects import HCA, annotations_of, expect, expect_in, given, hca_list, pod, policy, table
from pki import Pki
from process import Failed, eventually
from webhooks import SECRET

LONG = bool(os.environ.get("E2E_LONG"))
PODS, NODES, TABLES, CLIENTS = (500, 50, 10, 16) if LONG else (100, 10, 10, 8)
EACH = 60 / 500 if LONG else 20 / 100  # seconds between two creates, where the machine is fast enough
NAME = f"2 churn: {PODS} pods over {NODES} nodes while tables, policies, replicas and certificates change"
# So that replicas look every 10 s, and a new CA is trusted as long before a certificate of it serves. No other scenario
# has such a lifetime, and while a certificate has it the API server stays up.
LIFETIME = "--certificate-lifetime=100s"


def node_name(number):
    return f"churn-{number:02}"


def hcas_of(number, version):
    """Names that no node with another table has, and no other version of this one."""
    return [f"t{number % TABLES}v{version}_{port}" for port in range(4)]


class Changes(threading.Thread):
    """One table after the other gets its next version; every tenth time the policy changes."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.stopping, self.error = cluster, threading.Event(), None
        self.written = {node_name(number): set() for number in range(NODES)}  # every list that the node ever had
        self.count = self.edits = 0
        for number in range(NODES):
            self.write(number, 0)

    def write(self, number, version):
        node, hcas = node_name(number), hcas_of(number, version)
        self.written[node].add(hca_list(hcas))
        self.cluster.api.apply(table(node, hcas))

    def run(self):
        try:
            while not self.stopping.wait(0.1):
                self.count += 1
                self.write(self.count % NODES, self.count // NODES + 1)
                if self.count % 10 == 0:
                    self.edits += 1
                    self.cluster.api.apply(policy("churn", socketInterface=f"eth{self.edits % 2}"))
        except Exception as error:  # it must fail the scenario
            self.error = error

    def finish(self):
        self.stopping.set()
        self.join()
        if self.error:
            raise self.error


class Creations(threading.Thread):
    """Pods from several clients, at least PODS and until `finish`; what failed, and begin and end of each create."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.failures, self.times, self.finishing = cluster, [], {}, threading.Event()
        self.numbers, self.begin = itertools.count(), time.monotonic()

    def create(self, number):
        name, begin = f"pod-{number:03}", time.monotonic()
        try:
            self.cluster.api.create(pod("churn", name, node=node_name(number % NODES)))
        except (Refused, OSError) as error:
            self.failures.append(f"{name}: {error}")
        self.times[name] = begin, time.monotonic()

    def serve(self, _):
        for number in self.numbers:
            if number >= PODS and self.finishing.is_set():
                return
            time.sleep(max(0, self.begin + number * EACH - time.monotonic()))
            self.create(number)

    def run(self):
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(self.serve, range(CLIENTS)))

    def wait_for(self, more):
        """Until so many more have ended."""
        count = len(self.times) + more
        eventually(f"{count} pods were created", lambda: len(self.times) >= count or not self.is_alive())

    def finish(self):
        self.finishing.set()
        self.join()


class Certificates(threading.Thread):
    """Takes away the certificate, then asks for a new CA, and waits until every replica serves what follows."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.error, self.begin, self.seconds = cluster, None, time.monotonic(), 0

    def served(self):
        """The Secret, once all replicas show its certificate."""
        secret = self.cluster.webhooks.secret()
        try:
            wanted = ssl.PEM_cert_to_DER_cert(secret["tls.crt"])
            shown = [ssl.PEM_cert_to_DER_cert(replica.certificate())
                     for replica in self.cluster.webhooks.replicas.values()]
        except (KeyError, OSError):
            return None  # the key is missing, or the replica was killed
        return secret if shown == [wanted] * len(shown) else None

    def change(self, lose, *changed):
        """After `lose`, `changed` is made anew, and then all serve it."""
        before = eventually("every replica serves the certificate", self.served)
        lose()

        def follows():
            secret = self.served()
            return secret and all(secret.get(key) != before[key] for key in changed) and secret
        eventually(f"another {' and '.join(changed)} are served in place of the former", follows, pause=0.2)

    def run(self):
        try:
            self.change(lambda: self.cluster.api.merge("Secret", *SECRET, {"data": {"tls.crt": None}}), "tls.crt")
            self.change(lambda: self.cluster.api.merge("Secret", *SECRET, {"data": {"ca.key": None}}), "ca.crt",
                        "tls.crt")
            self.seconds = time.monotonic() - self.begin
        except Exception as error:  # it must fail the scenario
            self.error = error

    def finish(self):
        self.join()
        if self.error:
            raise self.error


def bound_pods(cluster):
    return {some["metadata"]["name"] for some in cluster.api.list("Pod", "churn") if some["spec"].get("nodeName")}


def check_pods(cluster, changes, creations, bound_before, killed):
    """Each pod has values that its own node had. One without was bound after the kill of a replica, and its create had
    begun before each client, on average, made another one after the kill."""
    reach = sorted(end for begin, end in creations.times.values() if begin > killed)[CLIENTS - 1]
    without = 0
    for name, (begin, _) in creations.times.items():
        some = cluster.bound("churn", name)
        node = some["spec"]["nodeName"]
        found = given(annotations_of(some))
        if found in changes.written[node]:
            continue
        if found is not None:
            raise Failed(f"{name} on {node} has {found}, which that node never had")
        without += 1
        if name in bound_before or begin > reach:
            raise Failed(f"{name} on {node} has no values, made {begin - killed:+.1f} s from the kill, "
                         f"while those until {reach - killed:+.1f} s may have met it; {cluster.why('churn', name)}")
    return without


class Steady(threading.Thread):
    """A create each tenth of a second: when it began and ended, the pod, and what failed."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.stopping, self.outcomes = cluster, threading.Event(), []
        self.start()

    def run(self):
        while not self.stopping.wait(0.1):
            name, begin, failure = f"steady-{len(self.outcomes)}", time.monotonic(), None
            try:
                self.cluster.api.create(pod("churn", name, node=node_name(1)))
            except (Refused, OSError, http.client.HTTPException) as error:
                failure = error
            self.outcomes.append((begin, time.monotonic(), name, failure))

    def wait_for(self, made, since):
        """Until so many that began after `since` were made; when the first of them began."""
        def found():
            begins = [begin for begin, _, _, failure in self.outcomes if begin >= since and not failure]
            return begins if len(begins) >= made else None
        return eventually(f"{made} creates succeed", found)[0]


def restart_api_server(cluster, changes):
    """Only creates that meet the restart fail, and the webhook follows again."""
    steady = Steady(cluster)
    try:
        steady.wait_for(5, 0)
        down, node, names = time.monotonic(), node_name(0), hcas_of(0, 9999)
        cluster.plane.restart_apiserver()
        cluster.plane.wait_ready()
        up = time.monotonic()
        eventually("a table can be written", lambda: write(cluster, table(node, names)))
        cluster.follows("churn", node, HCA, hca_list(names))
        current = time.monotonic() - up
        again = steady.wait_for(5, up)
    finally:
        steady.stopping.set()
        steady.join()
    failed = 0
    for begin, end, name, failure in steady.outcomes:
        if not failure:
            found = given(annotations_of(cluster.bound("churn", name)))
            if found not in changes.written[node_name(1)]:
                raise Failed(f"{name} has {found}; {cluster.why('churn', name)}")
            continue
        failed += 1
        if end < down or begin >= again:
            raise Failed(f"{name}, {begin - down:+.1f} s from the restart, which took {up - down:.1f} s: {failure}")
    return f"{up - down:.1f} s without an API server failed {failed} creates, current {current:.1f} s later"


def write(cluster, manifest):
    try:
        return cluster.api.apply(manifest)
    except (Refused, OSError, http.client.HTTPException):
        return None


def change_all(cluster, changes):
    """Pods under changes of everything; how many of them the kill of a replica left without values, and the seconds
    that certificate and CA took."""
    creations, certificates = Creations(cluster), Certificates(cluster)
    certificates.start()
    changes.start()
    creations.start()
    try:
        creations.wait_for(PODS // 3)
        before, killed = bound_pods(cluster), time.monotonic()
        cluster.webhooks.end("webhook-1", signal.SIGKILL)
        creations.wait_for(max(PODS // 10, 2 * CLIENTS))
        cluster.webhooks.start("webhook-1")
        certificates.finish()
    finally:
        creations.finish()
        changes.finish()
    expect("failed creates", creations.failures, [])
    return len(creations.times), check_pods(cluster, changes, creations, before, killed), certificates.seconds


def check_strangers(cluster):
    """Who has no certificate, or one of another CA, is not answered; with the API server's, whoever asks."""
    other = Pki(cluster.directory / "other-pki").issue("stranger", "kube-apiserver")
    for replica in cluster.webhooks.replicas.values():
        for client in ((), other):
            try:
                replica.binding_annotations("churn", node_name(0), cluster.authority(), client)
            except OSError:
                continue
            raise Failed(f"{replica.name} answered a stranger with certificate {client or 'none'}")
        expect_in("its annotations with the API server's certificate", replica.binding_annotations(
            "churn", node_name(0), cluster.authority()), "nccl-env.io/node")


def run(cluster):
    for number in range(NODES):
        cluster.plane.add_node(node_name(number))
    changes = Changes(cluster)
    cluster.put_policy(policy("churn", socketInterface="eth0"))
    cluster.opt_in("churn", "churn")
    cluster.issue_anew(LIFETIME, f"--client-ca={cluster.plane.pki.ca}")
    try:
        check_strangers(cluster)
        for number in range(NODES):
            cluster.follows("churn", node_name(number), HCA, hca_list(hcas_of(number, 0)))
        count, without, seconds = change_all(cluster, changes)
    finally:
        cluster.issue_anew()
    restart = restart_api_server(cluster, changes)
    cluster.clear("churn")
    for number in range(NODES):
        cluster.api.delete("NodeFabric", None, node_name(number))
        cluster.api.delete("Node", None, node_name(number))
    return (f"{count} pods, {changes.count} tables and {changes.edits} policies written, certificate and CA replaced "
            f"in {seconds:.0f} s, {without} pods passed the kill without values; {restart}")
