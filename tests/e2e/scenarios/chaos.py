# SPDX-License-Identifier: Apache-2.0
"""Everything fails at random while pods are created and bound. Each pod is judged by witness.py: it has the values of
its node, or none and the true reason; or it was missed, which is let pass only while nobody could be trusted, and else
once for each connection that a replica had when it failed.

tests/e2e/README.md tells how to run it."""
import collections
import contextlib
import http.client
import itertools
import json
import math
import os
import random
import signal
import ssl
import threading
import time

from api import Refused
from balancer import Balancer
from cluster import SOURCE
from objects import expect, given, hca_list, pod, policy, table
from process import PATIENCE, Failed, eventually
from scenarios.losses import without_bundle
from scenarios.restart import for_each
from webhooks import SECRET
from witness import DOWN, EMPTY, GONE, MISSED, RIGHT, STALE, UNREAD, WELL, Audit, History, Made, judge, make_table

LONG = bool(os.environ.get("E2E_LONG"))


def setting(name, short, long):
    return int(os.environ.get(f"CHAOS_{name}") or (long if LONG else short))


SECONDS, RATE, TABLES = setting("SECONDS", 120, 3600), setting("RATE", 10, 100), setting("TABLES", 300, 15000)
SEED = setting("SEED", 781675, random.randrange(10**6))  # a change is judged by the same faults as the last one
OTHER = os.environ.get("CHAOS_OTHER")  # the webhook of another version: replicas roll from one to the other and back
WITHOUT = {kind for kind in os.environ.get("CHAOS_WITHOUT", "").split(",") if kind}
NAME = f"25 chaos: {SECONDS} s of faults beside {RATE} pods a second on {TABLES} tables, seed {SEED}"
if WITHOUT:
    NAME += f", without {', '.join(sorted(WITHOUT))}"
CLIENTS = 32 if LONG else 8
# So that certificates are renewed meanwhile, and none ends while an API server starts.
LIFETIME = f"--certificate-lifetime={'1800s' if LONG else '400s'}"
NAMESPACE, MARKER = "chaos", "chaos-marker"
UNSEEN = 4  # seconds until two readiness probes have failed and a replica gets no new connections
BLIND = {"Secret deleted", "caBundle taken"}  # nobody is trusted: every pod may be missed
REPLICA = {"killed", "hung", "cut off from calls"}  # pods on its connections may be missed
# A table may have been replaced so many seconds before a Binding: within three a replica notices that no watch follows
# its tables, and reads each. One that is DEAF cannot notice.
LATE = 30
DEAF = {"hung", "cut off from the API server"}


def node_name(number):
    return f"chaos-{number:05}"


def persist(call, *arguments, settled=()):
    """The answer, however often the API server has to be asked; None for the codes in `settled`."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return call(*arguments)
        except (OSError, http.client.HTTPException, Failed) as error:
            code = getattr(error, "code", 0)
            if code in settled:
                return None
            if code in (400, 422) or time.monotonic() > end:
                raise Failed(f"{call.__name__} {arguments}: {error}") from error
        time.sleep(0.05)


class World:
    """The objects that change, and their histories."""

    def __init__(self, cluster, rng):
        self.cluster, self.api, self.rng, self.lock = cluster, cluster.api, rng, threading.RLock()
        self.tables = [History((WELL, 0)) for _ in range(TABLES)]
        self.policy, self.policies, self.versions = threading.Lock(), History(0), itertools.count(1)
        self.marks, self.changed, self.writes = 0, set(), 0
        for_each(lambda number: self.api.apply(make_table(node_name(number), number, (WELL, 0))), TABLES)
        self.mark()
        self.api.apply(policy(NAMESPACE, socketInterface="eth0"))

    def put(self, number, state):
        """Under the lock."""
        history, name = self.tables[number], node_name(number)
        history.begin(state)
        if state[0] == GONE:
            persist(self.api.delete, "NodeFabric", None, name, settled=(404,))
        else:
            persist(self.api.apply, make_table(name, number, state))
        history.done()
        self.changed.add(number)
        self.writes += 1

    def change(self):
        """Two pods come to one change."""
        time.sleep(2 / RATE)
        kind, number = self.rng.choices([WELL, DOWN, STALE, GONE], [7, 1, 1, 1])[0], self.rng.randrange(TABLES)
        with self.lock:
            self.put(number, (kind, self.tables[number].what[1] + 1))

    def mark(self):
        persist(self.api.apply, table(MARKER, [f"m{self.marks}"]))

    def everywhere(self, what, knows):
        """Until every replica that lives has loaded all and knows it; one that starts later reads everything anew. While
        the API server is restarted again and again, none may follow its watches for minutes."""
        def seen(replica):
            try:
                return not replica.alive() or (
                    "still being read" not in replica.ops("/readyz")[1] and knows(replica))
            except (OSError, http.client.HTTPException, ValueError, KeyError):
                return False
        for replica in self.cluster.webhooks.replicas.values():
            eventually(f"{replica.name} knows {what}", lambda: seen(replica), SECONDS + 2 * PATIENCE)

    def settle(self):
        """A watch tells of objects in the order of their writes: who knows the marker knows all tables before it."""
        time.sleep(0.5)
        with self.lock:
            changed, self.changed, self.marks = self.changed, set(), self.marks + 1
            settled = [(self.tables[number], len(self.tables[number].states)) for number in changed]
            self.mark()
            wanted = hca_list([f"m{self.marks}"])
        # A replica that does not follow its tables reads some singly, and may know the others as they were.
        self.everywhere(f"marker {wanted}", lambda replica: wanted == given(replica.binding_annotations(
            NAMESPACE, MARKER)) and replica.metric("nccl_env_tables_followed") == 1)
        for history, states in settled:
            if len(history.states) == states:
                history.settle()

    def lose_policy(self, lose, seconds=0):
        """Another version of it comes back."""
        with self.policy:
            self.policies.begin(None)
            lose()
            self.policies.done()
            time.sleep(seconds)
            version = next(self.versions)
            self.policies.begin(version)
            persist(self.api.apply, policy(NAMESPACE, socketInterface=f"eth{version}"))
            self.policies.done()
            self.everywhere(f"policy {version}", lambda replica: f"'eth{version}'" in str(
                replica.ask("pods", pod(NAMESPACE, "probe"))))
            self.policies.settle()


class Running(threading.Thread):
    """Repeats a step until it is stopped or fails."""

    def __init__(self, step):
        super().__init__(daemon=True)
        self.step, self.stopping, self.error = step, threading.Event(), None
        self.start()

    def run(self):
        try:
            while not self.stopping.is_set():
                self.step()
        except Exception as error:  # for `finish`
            self.error = error


def finish(threads):
    """Waits until each has ended; the first error fails the scenario."""
    for thread in threads:
        thread.join()
    for thread in threads:
        if thread.error:
            raise thread.error


def stop(threads):
    for thread in threads:
        thread.stopping.set()
    finish(threads)


class Load:
    """Pods at a steady rate, where the machine can take it: each is created, bound, read and deleted."""

    def __init__(self, world):
        self.api, self.rng = world.api, random.Random(SEED)
        self.made, self.numbers, self.begin = [], itertools.count(), time.monotonic()
        self.clients = [Running(self.step) for _ in range(CLIENTS)]

    def step(self):
        number = next(self.numbers)
        time.sleep(max(0, self.begin + number / RATE - time.monotonic()))
        name, node = f"pod-{number:06}", self.rng.randrange(TABLES)
        begin = time.monotonic()
        persist(self.api.create, pod(NAMESPACE, name, schedulerName="none"), settled=(409,))
        made = Made(name, node, (begin, time.monotonic()))
        begin = time.monotonic()
        persist(self.bind, name, node_name(node), settled=(404,))
        made.bind = begin, time.monotonic()
        made.read(persist(self.api.get, "Pod", NAMESPACE, name, settled=(404,)))
        self.made.append(made)
        with contextlib.suppress(OSError, http.client.HTTPException, Refused):
            self.api.delete("Pod", NAMESPACE, name, grace=0)

    def bind(self, name, node):
        """An API server whose etcd failed answers 409, too: the pod tells."""
        try:
            self.api.bind(NAMESPACE, name, node)
        except Refused as error:
            if error.code != 409 or not self.api.get("Pod", NAMESPACE, name)["spec"].get("nodeName"):
                raise

    def settle(self):
        """Until each client, on average, has made two pods from here on."""
        begin = time.monotonic()
        eventually("pods are made", lambda: self.failed() or sum(
            made.create[0] > begin for made in self.made[-8 * CLIENTS:]) >= 2 * CLIENTS, 2 * PATIENCE)

    def failed(self):
        return any(client.error for client in self.clients)


class Window:
    """A fault and the pods that it may touch. `losses`: pods that it may cost."""

    def __init__(self, kind):
        self.kind, self.begin, self.end, self.losses = kind, time.monotonic(), math.inf, 0


class Line(Running):
    """One fault after the other until SECONDS are over: every kind of `kinds` in turn, in an order that chance gives."""

    def __init__(self, faults, name, kinds):
        self.faults, self.kinds, self.rng, self.waiting = faults, kinds, random.Random(f"{SEED} {name}"), []
        super().__init__(self.next)

    def next(self):
        time.sleep(self.rng.uniform(0, 2))
        if time.monotonic() > self.faults.end or self.faults.load.failed():
            self.stopping.set()
            return
        if not self.waiting:
            self.waiting = self.rng.sample(sorted(self.kinds), len(self.kinds))
        kind = self.waiting.pop()
        try:
            self.faults.run(kind, self.kinds[kind], self.rng)
        except Exception:
            self.faults.end = 0  # of the other lines, too
            raise


class Faults:
    """Each fault begins and ends within its function, which returns what to log."""

    def __init__(self, cluster, world, load, ways, log):
        self.cluster, self.world, self.load, self.ways, self.log = cluster, world, load, ways, log
        self.webhooks, self.balancer, self.plane = cluster.webhooks, cluster.balancer, cluster.plane
        # With 15 000 tables the API server takes minutes to delete a CRD, and begins anew when it is restarted.
        self.deleting = threading.Lock() if LONG else contextlib.nullcontext()
        self.windows, self.begin = [], time.monotonic()
        self.end = self.begin + SECONDS

    def start(self):
        """Lines side by side, so that faults of different kinds meet."""
        # Takes as long as the API server keeps idle connections.
        drained = {"drained": self.drain} if LONG or OTHER else {}
        lines = {
            "replicas": {"killed": self.kill, "hung": self.hang, "cut off from calls": self.cut_calls,
                         "cut off from the API server": self.cut_api, **drained},
            "control plane": {"API server restarted": self.after_deletion(self.restart_api),
                              "etcd restarted": self.after_deletion(self.restart_etcd),
                              "etcd paused": self.after_deletion(self.pause_etcd)},
            "objects": {"policy deleted": self.delete_policy, "tables deleted": self.lose_tables,
                        "CRD of tables deleted": self.lose_tables_crd,
                        "CRD of policies deleted": self.lose_policies_crd},
            "trust": {"certificate replaced": self.replace_certificate, "CA replaced": self.replace_ca,
                      "Secret deleted": self.lose_secret, "caBundle taken": self.lose_bundle}}
        expect("kinds of CHAOS_WITHOUT that there are not", WITHOUT - set().union(*lines.values()), set())
        return [Line(self, name, {kind: fault for kind, fault in kinds.items() if kind not in WITHOUT})
                for name, kinds in lines.items() if not WITHOUT.issuperset(kinds)]

    def run(self, kind, fault, rng):
        window = Window(kind)
        self.windows.append(window)
        try:
            what = fault(window, rng) or ""
            self.load.settle()
        finally:
            window.end = time.monotonic()
        self.tell(f"{window.begin - self.begin:8.2f} s, for {window.end - window.begin:6.2f} s: {kind} {what}")

    def tell(self, line):
        self.log.write(line + "\n")
        self.log.flush()

    def seconds(self, rng):
        """Mostly less than a hook may take; in the long form also more than that."""
        return rng.uniform(35, 45) if LONG and rng.random() < 0.2 else rng.uniform(1, 10)

    def replica(self, rng):
        return rng.choice(sorted(self.webhooks.replicas))

    def kill(self, window, rng):
        name = self.replica(rng)
        window.losses += self.balancer.open[name]
        self.webhooks.end(name, signal.SIGKILL)
        time.sleep(rng.uniform(0, 3))
        self.webhooks.start(name)
        replica = self.webhooks.replicas[name]
        eventually(f"{name} has loaded all tables", lambda: replica.ops("/readyz")[1] == "ok\n", 2 * PATIENCE)
        window.losses += replica.metric("nccl_env_responses_total", **{"class": "5xx"})
        return name

    def away(self, window, name, seconds):
        """Probes fail after a while, and endpoints follow."""
        window.losses += self.balancer.open[name]
        before = self.balancer.opened[name]
        time.sleep(min(seconds, UNSEEN))
        if seconds > UNSEEN:
            self.balancer.remove(name)
        time.sleep(max(0, seconds - UNSEEN))
        window.losses += self.balancer.opened[name] - before
        return f"{name} {seconds:.1f} s"

    def hang(self, window, rng):
        name, seconds = self.replica(rng), self.seconds(rng)
        replica = self.webhooks.replicas[name]
        replica.process.send_signal(signal.SIGSTOP)
        try:
            told = self.away(window, name, seconds)
        finally:
            replica.process.send_signal(signal.SIGCONT)
        eventually(f"{name} is ready", replica.is_ready)
        self.balancer.put(name, replica.ports["admission_port"])
        return told

    def cut_calls(self, window, rng):
        name = self.replica(rng)
        self.balancer.cut.add(name)
        told = self.away(window, name, self.seconds(rng))
        self.balancer.cut.discard(name)
        self.balancer.put(name, self.webhooks.replicas[name].ports["admission_port"])
        return told

    def cut_api(self, _, rng):
        name, seconds = self.replica(rng), self.seconds(rng)
        self.ways[name].cut.add("api")
        time.sleep(seconds)
        self.ways[name].cut.discard("api")
        return f"{name} {seconds:.1f} s"

    def drain(self, _, rng):
        name = self.replica(rng)
        self.webhooks.end(name)
        command, own = self.webhooks.replicas[name].command, str(self.webhooks.program)
        if OTHER:
            command[0] = OTHER if command[0] == own else own
        self.webhooks.start(name)
        return f"{name}, now {command[0]}"

    def restart_api(self, _, rng):
        number = rng.choice([signal.SIGTERM, signal.SIGKILL])
        self.plane.restart_apiserver(number)
        self.plane.wait_ready()
        return number.name

    def restart_etcd(self, _, rng):
        number = rng.choice([signal.SIGTERM, signal.SIGKILL])
        self.plane.etcd.end(number, limit=10)
        time.sleep(rng.uniform(0, 3))
        self.plane.etcd.start()
        self.plane.wait_ready()
        return number.name

    def pause_etcd(self, _, rng):
        seconds = rng.uniform(1, 8)
        self.plane.etcd.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.plane.etcd.process.send_signal(signal.SIGCONT)
        self.plane.wait_ready()
        return f"{seconds:.1f} s"

    def delete_policy(self, _, rng):
        self.world.lose_policy(lambda: persist(self.cluster.api.delete, "NcclPolicy", None, NAMESPACE, settled=(404,)),
                               rng.uniform(0, 3))

    def lose_tables(self, _, rng):
        world, lost = self.world, rng.sample(range(TABLES), TABLES // 10)

        def put(kind):
            with world.lock:
                for_each(lambda at: world.put(lost[at], (kind, world.tables[lost[at]].what[1] + 1)), len(lost))
        put(GONE)
        time.sleep(rng.uniform(0, 3))
        put(WELL)

    def without_crd(self, kind):
        """Objects of other scenarios come back at once."""
        crd = SOURCE / f"manifests/base/crds/{kind.lower().replace('cy', 'cie')}s.yaml"
        kept = [{"apiVersion": some["apiVersion"], "kind": kind, "metadata": {"name": some["metadata"]["name"]},
                 **{key: some[key] for key in ("spec", "observed") if key in some}}
                for some in persist(self.cluster.api.list, kind) if not some["metadata"]["name"].startswith(NAMESPACE)]
        persist(self.cluster.kubectl, "delete", "--ignore-not-found", "-f", crd)
        persist(self.cluster.kubectl, "apply", "-f", crd)
        for some in kept:
            persist(self.cluster.api.apply, some)

    def after_deletion(self, fault):
        def run(window, rng):
            with self.deleting:
                window.begin = time.monotonic()
                return fault(window, rng)
        return run

    def lose_tables_crd(self, window, _):
        world = self.world
        with self.deleting, world.lock:
            window.begin = time.monotonic()
            former = [history.what for history in world.tables]
            for history, (_, version) in zip(world.tables, former):
                history.begin((GONE, version))
            self.without_crd("NodeFabric")
            for history in world.tables:
                history.done()
            for_each(lambda number: world.put(number, former[number]), TABLES)
            world.mark()

    def lose_policies_crd(self, *_):
        self.world.lose_policy(lambda: self.without_crd("NcclPolicy"))

    def trusted(self):
        """The Secret, once every replica shows its certificate and every hook trusts its CA."""
        secret = persist(self.webhooks.secret, settled=(404,)) or {}
        try:
            wanted = ssl.PEM_cert_to_DER_cert(secret["tls.crt"])
            shown = {ssl.PEM_cert_to_DER_cert(replica.certificate()) for replica in self.webhooks.replicas.values()}
            return secret if shown == {wanted} and secret["ca.crt"] in persist(self.cluster.authority) else None
        except (KeyError, OSError, ValueError):
            return None

    def replace(self, lose, *changed):
        before = eventually("all replicas are trusted", self.trusted, 2 * PATIENCE)

        def follows():
            secret = self.trusted()
            return secret and all(secret[key] != before[key] for key in changed)
        lose()
        eventually("all replicas are trusted again", follows, 2 * PATIENCE, 0.2)

    def without(self, key):
        return lambda: persist(self.cluster.api.merge, "Secret", *SECRET, {"data": {key: None}})

    def replace_certificate(self, *_):
        self.replace(self.without("tls.crt"), "tls.crt")

    def replace_ca(self, *_):
        self.replace(self.without("ca.key"), "ca.crt", "tls.crt")

    def lose_secret(self, _, rng):
        def lose():
            persist(self.cluster.api.delete, "Secret", *SECRET, settled=(404,))
            time.sleep(rng.uniform(0, 3))
            persist(self.cluster.install)
        self.replace(lose, "ca.crt", "tls.crt")

    def lose_bundle(self, *_):
        self.replace(lambda: persist(without_bundle, self.cluster))


class Observer:
    """Logs when a replica begins or ends to load tables, and what it did not answer: who missed a pod, and why."""

    def __init__(self, faults, name):
        self.faults, self.name, self.known = faults, name, None

    def step(self):
        time.sleep(1)
        replica = self.faults.webhooks.replicas[self.name]
        with contextlib.suppress(http.client.HTTPException):  # it ended within its answer
            self.look(replica)

    def look(self, replica):
        ready, failed = replica.ops("/readyz")[1], replica.metric("nccl_env_responses_total", **{"class": "5xx"})
        what = "loads tables" if "still being read" in ready else "is ready" if ready else "is not ready"
        state = f"{self.name} {what}, {failed:.0f} answers of 5xx"
        if state != self.known:
            self.known = state
            self.faults.tell(f"{time.monotonic() - self.faults.begin:8.2f} s: {state}")


class Tally:
    """Pods by verdict, longest create, and what was missed or empty."""

    def __init__(self):
        self.verdicts, self.longest, self.faults = collections.Counter(), 0, 0

    def add(self, made, verdict):
        self.verdicts[verdict] += 1
        self.longest = max(self.longest, made.create[1] - made.create[0])

    def __str__(self):
        counts = ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.items())
        return f"{sum(self.verdicts.values())} pods ({counts}), longest create {self.longest:.2f} s"


def touching(windows):
    """A function: the windows that a span of time touches."""
    slots = collections.defaultdict(set)
    for window in windows:
        for slot in range(int(window.begin), int(window.end) + 1):
            slots[slot].add(window)
    return lambda begin, end: {window for slot in range(int(begin), int(end) + 1) for window in slots[slot]
                               if window.begin <= end and window.end >= begin}


def warned(cluster):
    """Names of pods of which a replica's log says that their table may have changed."""
    return {json.loads(line)["pod"] for log in cluster.directory.glob("webhook-*.log") for line in log.open()
            if "may have changed since it was listed" in line}


def judge_all(world, load, faults, audit):
    """Tallies by kind of fault, a sentence on all, and what is wrong, or ""."""
    eventually("the audit log has the last pod", lambda: any(
        (made.name, "binding") in audit.told for made in load.made[-CLIENTS:]))
    at, tallies, wrong, losses = touching(faults.windows), collections.defaultdict(Tally), [], []
    total, details, former, cautions = Tally(), collections.Counter(), collections.Counter(), warned(faults.cluster)
    for made in load.made:
        try:
            verdict, detail, late = judge(made, world.policies, world.tables[made.number], audit.told)
        except Failed as error:
            wrong.append(str(error))
            continue
        total.add(made, verdict)
        kinds = {window.kind for window in at(made.create[0], made.bind[1])}
        for kind in kinds or {"no fault"}:
            tallies[kind].add(made, verdict)
        if late > LATE:
            deaf = DEAF & {window.kind for window in at(made.bind[0] - LATE, made.bind[1])}
            excuse = "told in the log" if made.name in cautions else "of a replica that was deaf" if deaf else ""
            former[f"after more than {LATE} s, {excuse}" if excuse else "unnoticed"] += 1
            if not excuse:
                wrong.append(f"{made.name} has the state that its table had {late:.1f} s before its Binding")
        elif late > 0:
            former["after less"] += 1
        if verdict not in (RIGHT, UNREAD):
            details[f"{verdict}: {detail}"] += 1
        if verdict == MISSED:
            met = {window.kind for window in at(*(made.create if detail == "create" else made.bind))}
            if not met & BLIND:
                losses.append(made.name)
                if not met & REPLICA:
                    wrong.append(f"{made.name} was missed at its {detail} beside {met or 'no fault'}")
    faults.log.writelines(f"{sentence}\n" for sentence in wrong)
    for window in faults.windows:
        tallies[window.kind].faults += 1
    budget = sum(window.losses for window in faults.windows)
    if len(losses) > budget:
        wrong.append(f"{len(losses)} pods were missed beside a live replica, with {budget} connections on those that "
                     f"failed: {losses[:10]}")
    told = f"{total}; {dict(details)}; {world.writes} writes of tables, pods with the state before: {dict(former)}"
    return tallies, told, f"seed {SEED}: {len(wrong)} pods: " + "\n".join(wrong[:5]) if wrong else ""


def run_faults(cluster, world, ways):
    load, audit = Load(world), Audit(cluster.directory / "audit.log")
    with (cluster.directory / "chaos.log").open("w") as log:
        log.write(f"{NAME}\n")
        faults = Faults(cluster, world, load, ways, log)
        background = [Running(world.change), Running(world.settle)]
        background += [Running(Observer(faults, name).step) for name in ways]
        broken = None
        try:
            try:
                load.settle()
                finish(faults.start())
                cluster.wait_called()
                load.settle()
            finally:
                stop([*load.clients, *background])
        except Failed as error:
            broken = error  # pods that were made until then are judged all the same
            faults.tell(f"failed: {broken}")
        tallies, told, wrong = judge_all(world, load, faults, audit)
        audit.ended = True
        rows = [f"{kind} ×{tally.faults}: {tally}" for kind, tally in sorted(tallies.items())]
        log.write("\n".join([told, *rows]) + "\n")
    if wrong:
        raise Failed(wrong)
    if broken:
        raise broken
    return "\n  ".join([told, *rows])


def run(cluster):
    world = World(cluster, random.Random(f"{SEED} tables"))
    cluster.opt_in(NAMESPACE, NAMESPACE)
    ways = {name: Balancer() for name in cluster.webhooks.replicas}
    for name, way in ways.items():
        way.put("api", cluster.plane.port)
        cluster.webhooks.ways[name] = way.port
    offset = cluster.plane.apiserver.log.stat().st_size
    cluster.issue_anew(LIFETIME)
    try:
        world.settle()
        told = run_faults(cluster, world, ways)
    finally:
        cluster.webhooks.ways = {}
        cluster.issue_anew()
    told += f"\n  let pass by the API server: {cluster.plane.let_pass(offset)}"
    cluster.clear(NAMESPACE)
    for_each(lambda number: persist(cluster.api.delete, "NodeFabric", None, node_name(number), settled=(404,)), TABLES)
    persist(cluster.api.delete, "NodeFabric", None, MARKER, settled=(404,))
    return told
