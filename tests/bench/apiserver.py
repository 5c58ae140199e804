#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What hooks and tables cost an API server, on the control plane of the end-to-end tests. Creates and Bindings with no
hook, a Go hook that does nothing, a Go hook that answers with our patch, and ours by each carrier, in alternating
rounds; then what etcd holds of a pod under each shipped policy, and the live heap of the API server with tables. Lines of
figures.py are among those that it prints. Method and figures: tests/bench/README.md.

  apiserver.py BINARIES PROGRAMS [--clients 1,8,32] [--kb 1,11] [--rounds 5] [--requests 100] [--tables 1000,5000]"""
import argparse
import base64
import concurrent.futures
import json
import pathlib
import re
import shutil
import signal
import statistics
import sys
import threading
import time
import urllib.request

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import inputs
import servers
from figures import figure
from api import path_of
from objects import pod
from process import Failed, eventually

NONE, NOOP, GO, OURS = "no hook", "Go, no patch", "Go, our patch of File", "nccl-env, File"
CARRIERS = {OURS: "File", "nccl-env, EnvFile": "EnvFile"}
NAMESPACES = {NONE: "bench-none", NOOP: "bench-noop", GO: "bench-go",
              **{name: f"bench-{carrier.lower()}" for name, carrier in CARRIERS.items()}}
CREATE, BINDING = "create", "Binding"


def hook_configuration(namespace, port, authority):
    """Called as ours are, for this namespace."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "scope": "Namespaced"}
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": namespace}, "webhooks": [{
                "name": f"{name}.bench.example", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": {"url": f"https://127.0.0.1:{port}/admit", "caBundle": authority},
                "rules": [{**rule, "resources": resources}], "failurePolicy": "Fail", "timeoutSeconds": 30,
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "reinvocationPolicy": "IfNeeded"}
                for name, resources in (("pods", ["pods"]), ("binding", ["pods/binding", "bindings"]))]}


def padded(namespace, name, kilobytes):
    """A pod whose body has so many kilobytes, by variables of its own."""
    made = pod(namespace, name, schedulerName="none", env=[])
    env, size = made["spec"]["containers"][0]["env"], len(json.dumps(made))
    while size < kilobytes * 1000:
        env.append({"name": f"TRAINER_OPTION_{len(env):03}", "value": f"/data/shard-{len(env):05}.tar"})
        size += len(json.dumps(env[-1])) + 2
    return made


def binding_of(namespace, name):
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "namespace": namespace},
            "target": {"kind": "Node", "name": inputs.NODE}}


class Hooks:
    """A namespace for each hook, and the processes that answer."""

    def __init__(self, cluster, directory):
        self.cluster, self.api, self.directory = cluster, cluster.api, directory
        self.replica = next(iter(cluster.webhooks.replicas.values()))
        self.pids, self.peers = {name: self.replica.pid for name in CARRIERS}, []
        self.api.apply(inputs.table(0))
        for name, carrier in CARRIERS.items():
            policy = inputs.policy(NAMESPACES[name])
            policy["spec"]["delivery"] = [carrier]
            cluster.put_policy(policy)
            cluster.opt_in(NAMESPACES[name], NAMESPACES[name])
        self.straight()
        cluster.plane.add_namespace(NAMESPACES[NONE])
        program = servers.build_go(directory)
        if program:
            self.start_peer(program, NOOP, {})
            self.start_peer(program, GO, self.patches())
        self.names = [name for name in NAMESPACES if name == NONE or name in self.pids]
        eventually("every hook is called", self.all_called)

    def straight(self):
        """Leads our hooks past the balancer to one replica, since the peers are asked directly, too."""
        hooks = self.api.get("MutatingWebhookConfiguration", None, "nccl-env")
        for hook in hooks["webhooks"]:
            hook["clientConfig"]["url"] = f"https://127.0.0.1:{self.replica.ports['admission_port']}/admit"
        self.api.request("PUT", path_of(hooks["kind"], None, "nccl-env"), hooks)

    def patches(self):
        """What our webhook answers, of a pod with all that the API server adds before it asks."""
        probe = self.api.create(padded(NAMESPACES[NONE], "probe", 1), "?dryRun=All")
        probe["metadata"] = {"name": "probe", "namespace": NAMESPACES[OURS]}
        return {"pods": self.replica.ask("pods", probe),
                "pods-binding": self.replica.ask("pods/binding", binding_of(NAMESPACES[OURS], "probe"))}

    def start_peer(self, program, name, patches):
        namespace, pki = NAMESPACES[name], self.cluster.plane.pki
        pki.issue("tls", "peer", addresses=["IP:127.0.0.1"])
        fixed = self.directory / namespace
        fixed.mkdir()
        for resource, patch in patches.items():
            inputs.write_json(fixed / f"{resource}.json", patch)
        self.cluster.plane.add_namespace(namespace)
        peer = servers.start_go(program, pki.directory, "-fixed", fixed, cpu=None)
        self.peers.append(peer)
        self.pids[name] = peer.pid
        self.api.create(hook_configuration(namespace, peer.port, base64.b64encode(pki.ca.read_bytes()).decode()))

    def all_called(self):
        """Go's patch gives what ours by File does, and each carrier a pod of its own."""
        specs = {name: self.api.create(padded(namespace, "probe", 1), "?dryRun=All")["spec"]
                 for name, namespace in NAMESPACES.items() if name in self.names}
        given = {name: [spec["containers"][0]["env"], len(spec.get("initContainers", [])), len(spec.get("volumes", []))]
                 for name, spec in specs.items()}
        ours = [given[NONE], *(given[name] for name in CARRIERS)]
        return all(ours.count(each) == 1 for each in ours) and given.get(GO, given[OURS]) == given[OURS]

    def stop(self):
        for peer in self.peers:
            peer.stop()
        for name in self.names:
            if name in (NOOP, GO):
                self.api.delete("MutatingWebhookConfiguration", None, NAMESPACES[name])
        self.cluster.install()
        self.cluster.clear(*(NAMESPACES[name] for name in self.names))


def cpu_seconds(pid):
    """By the process's clock (clock_getcpuclockid(3)): /proc counts in hundredths, and a hook needs less for a round."""
    return time.clock_gettime(~pid << 3 | 2)


class Round:
    """One kind of request to one hook: seconds of each, of all together, and of CPU."""

    def __init__(self, hooks, name, clients, posts):
        pids = {"api": hooks.cluster.plane.apiserver.pid, "hook": hooks.pids.get(name)}
        before = {part: cpu_seconds(pid) for part, pid in pids.items() if pid}
        self.seconds, self.wall = timed(hooks.api, clients, posts)
        self.cpu = {part: (cpu_seconds(pids[part]) - begin) / len(posts) for part, begin in before.items()}


def timed(api, clients, posts):
    """Seconds of each POST and of all, by so many connections that are open when it begins."""
    waiting, seconds, ready = list(reversed(posts)), [], threading.Barrier(clients + 1)

    def serve(_):
        connection = api.connect()
        connection.connect()
        ready.wait()
        while True:
            try:
                path, body = waiting.pop()
            except IndexError:
                return connection.close()
            begin = time.perf_counter()
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            text = reply.read()
            seconds.append(time.perf_counter() - begin)
            if reply.status >= 300:
                raise Failed(f"POST {path}: {reply.status} {text.decode(errors='replace')}")

    with concurrent.futures.ThreadPoolExecutor(clients) as threads:
        served = [threads.submit(serve, number) for number in range(clients)]
        ready.wait()
        begin = time.perf_counter()
        for each in served:
            each.result()
        return seconds, time.perf_counter() - begin


def round_of(hooks, name, kilobytes, clients, requests):
    """A create and a Binding of each pod; what the API server added to the pod's size is not in it."""
    namespace, names = NAMESPACES[name], [f"pod-{number:05}" for number in range(requests)]
    root = path_of("Pod", namespace)
    creates = [(root, json.dumps(padded(namespace, each, kilobytes)).encode()) for each in names]
    bindings = [(f"{root}/{each}/binding", json.dumps(binding_of(namespace, each)).encode()) for each in names]
    made = {CREATE: Round(hooks, name, clients, creates), BINDING: Round(hooks, name, clients, bindings)}
    hooks.api.request("DELETE", root, {"gracePeriodSeconds": 0})
    return made


def measure_hooks(cluster, directory, options):
    """Alternating: each round asks every hook once, beginning with another one. Yields a line of text for each."""
    hooks = Hooks(cluster, directory)
    try:
        for name in hooks.names:
            round_of(hooks, name, 1, 1, options.requests)
        for kilobytes in options.kb:
            for clients in options.clients:
                rounds = {name: [] for name in hooks.names}
                for number in range(options.rounds):
                    first = number % len(hooks.names)
                    for name in hooks.names[first:] + hooks.names[:first]:
                        rounds[name].append(round_of(hooks, name, kilobytes, clients, options.requests))
                size = len(json.dumps(padded(NAMESPACES[NONE], "pod-00000", kilobytes)))
                for kind in (CREATE, BINDING):
                    some = {name: [each[kind] for each in rounds[name]] for name in hooks.names}
                    yield from table_of(f"{kind}, pod of {size} bytes, {clients} client{'s'[:clients - 1]}", some)
                    yield from figures_of(f"{kind.lower()}_{kilobytes}kb_{clients}", some)
    finally:
        hooks.stop()


def ratios(rounds, base, figure):
    """Of a figure of the same round: median, least and greatest."""
    found = sorted(figure(each) / figure(other) for each, other in zip(rounds, base))
    return f"{statistics.median(found):.2f} ({found[0]:.2f}–{found[-1]:.2f})"


def least(rounds, figure):
    """What others do on the machine can only add to it."""
    return min(figure(each) for each in rounds)


def p50(one):
    return statistics.median(one.seconds)


def table_of(title, rounds):
    yield f"{title:<42}{'p50 ms':>8}{'p99 ms':>8}{'a second':>10}{'API ms':>8}{'hook ms':>9}   p50 to {NOOP}"
    for name, some in rounds.items():
        seconds = sorted(second * 1000 for each in some for second in each.seconds)
        cpu = {part: statistics.mean(each.cpu[part] for each in some) * 1000 for part in some[0].cpu}
        line = (f"  {name:<40}{statistics.median(seconds):>8.2f}{seconds[len(seconds) * 99 // 100]:>8.2f}"
                f"{len(seconds) / sum(each.wall for each in some):>10.0f}{cpu['api']:>8.2f}{cpu.get('hook', 0):>9.2f}")
        if NOOP in rounds:
            line += f"   {ratios(some, rounds[NOOP], p50)}"
        yield line
    for name, carrier in list(CARRIERS.items())[1:]:
        yield f"  {carrier} to File, each in its quietest round: " + ", ".join(
            f"{what} {least(rounds[name], figure) / least(rounds[OURS], figure):.2f}" for what, figure in (
                ("p50", p50), ("seconds", lambda one: one.wall), ("API CPU", lambda one: one.cpu["api"]),
                ("hook CPU", lambda one: one.cpu["hook"])))


def figures_of(what, rounds):
    for name, some in rounds.items():
        key = f"{what}_{NAMESPACES[name].removeprefix('bench-')}"
        yield figure(f"{key}_ms", [p50(one) * 1000 for one in some])
        yield figure(f"{key}_a_second", [len(one.seconds) / one.wall for one in some])
        if name != NONE:
            yield figure(f"{key}_added_ms", [(p50(one) - p50(base)) * 1000 for one, base in zip(some, rounds[NONE])])


def eight_rails(number, fabric):
    """A table that a policy with this `fabric` takes."""
    made = inputs.table(number)
    for rail, port in enumerate(made["observed"]["ports"], 1):
        port["hca"] = re.sub(r"\[.*|\*", "", fabric.get("hcas", ["mlx5_"])[0]) + str(rail)
        if fabric.get("linkLayer") == "InfiniBand":
            port |= {"linkLayer": "InfiniBand", "transport": "InfiniBand", "gidRows": [f"0 IB gid fe80::b83f:d203:b4:{rail:x}"]}
    return made


def stored(cluster, namespace, number, labels, limits):
    """Bytes of a pod's value in etcd, as protobuf: after its create, and after its Binding to the table of this number."""
    name, sizes = f"stored-{number}", []
    made = padded(namespace, name, 1)
    made["metadata"]["labels"] = labels
    made["spec"]["containers"][0]["resources"] = {"limits": limits}
    key = json.dumps({"key": base64.b64encode(f"/registry/pods/{namespace}/{name}".encode()).decode()}).encode()
    for path, body in ((path_of("Pod", namespace), made),
                       (f"{path_of('Pod', namespace)}/{name}/binding", {
                           **binding_of(namespace, name), "target": {"kind": "Node", "name": f"node-{number:05}"}})):
        cluster.api.request("POST", path, body)
        with urllib.request.urlopen(cluster.plane.etcd_url + "/v3/kv/range", key) as reply:
            sizes.append(len(base64.b64decode(json.load(reply)["kvs"][0]["value"])))
    return sizes, cluster.api.get("Pod", namespace, name)["metadata"].get("annotations", {})


def measure_stored(cluster):
    """Under each shipped policy, a pod that asks for the first resource of its match, on a node of eight rails."""
    import yaml
    policies = [each for file in sorted((inputs.ROOT / "policies").glob("*.yaml"))
                for each in yaml.safe_load_all(file.read_text()) if each["kind"] == "NcclPolicy"]
    without, added = [], {"create": [], "binding": [], "annotations": []}
    cluster.plane.add_namespace("stored")
    for number, policy in enumerate(policies, 1):
        spec, name = policy["spec"], "stored-" + policy["metadata"]["name"]
        cluster.api.apply(eight_rails(number, spec.get("fabric", {})))
        cluster.put_policy(policy)
        cluster.opt_in(name, policy["metadata"]["name"])
        first = [re.sub(r"\[.*\]|\*", "1", each["name"]) for each in spec["match"].get("resources", [])][:1]
        asked = ({} if first else {"nccl-env.io/inject": "true"}), {resource: "1" for resource in first}
        (bare, _), (ours, annotations) = stored(cluster, "stored", number, *asked), stored(cluster, name, number, *asked)
        if not any(eight_rails(number, spec.get("fabric", {}))["observed"]["ports"][7]["hca"] in text
                   for text in annotations.values()):
            yield f"  {name}: has no list of eight rails: {annotations}"
        without.append(bare[1])
        for kind, size in zip(added, (ours[0] - bare[0], ours[1] - bare[1], sum(map(len, [*annotations, *annotations.values()])))):
            added[kind].append(size)
        yield f"  {name:<28}{bare[1]:>6} bytes in etcd without, " + ", ".join(f"{kind} +{some[-1]}" for kind, some in added.items())
        cluster.clear(name)
    yield figure("stored_without_bytes", without)
    yield from (figure(f"stored_{kind}_added_bytes", some) for kind, some in added.items())
    cluster.clear("stored")


def live_heap(api):
    """Bytes of the API server after garbage was collected, once that stays within 1 %: after its start it is busy for a
    while, with schemas above all."""
    found = []

    def steady():
        connection = api.connect()
        connection.request("GET", "/debug/pprof/heap?gc=1&debug=1")
        found.append(int(re.search(r"# HeapAlloc = (\d+)", connection.getresponse().read().decode())[1]))
        connection.close()
        last = found[-6:]
        return len(last) == 6 and max(last) < 1.01 * min(last)
    eventually("the heap stays", steady, pause=0.3)
    return min(found[-6:])


def write_tables(api, numbers, call):
    with concurrent.futures.ThreadPoolExecutor(8) as clients:
        list(clients.map(call, numbers))


def measure_heap(cluster, counts, shape=(8, 4), restart=True):
    """Heap for each table of the API server that took them, which keeps their events for a while, and of one that has
    started since and so holds them alone. With both replicas' watches, written as agents write."""
    api, plane = cluster.api, cluster.plane

    def restarted():
        if restart:
            plane.restart_apiserver()
            plane.wait_ready()
            api.get("Namespace", None, "default")  # on a new connection: a create on the old one would be lost
            cluster.wait_called()
        return live_heap(api)
    empty, before = restarted(), 0
    size = len(json.dumps(inputs.shaped(0, *shape), separators=(",", ":")))
    for count in counts:
        write_tables(api, range(before, count), lambda number: api.apply(inputs.shaped(number, *shape),
                                                                         "nccl-env-agent"))
        before, taken, held = count, live_heap(api), restarted()
        each = [(heap - empty) / count / 1000 for heap in (taken, held)]
        yield figure(f"heap_{count}_tables_each_kb", each[1:])
        yield (f"{count} tables of {shape[0]} × {shape[1]}, {size} bytes of JSON: heap {each[0]:.1f} KB a table as they "
               f"come, {each[1]:.1f} KB after a start ({empty / 1e6:.0f} MB without tables)")
    write_tables(api, range(before), lambda number: api.delete("NodeFabric", None, f"node-{number:05}"))


def numbers(text):
    return [int(word) for word in text.split(",") if word]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--clients", type=numbers, default=[1, 8, 32])
    parser.add_argument("--kb", type=numbers, default=[1, 11], help="of a pod's body; \"\": no hook is measured")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=100, help="of each kind in a round")
    parser.add_argument("--tables", type=numbers, default=[1000, 5000], help='for the heap; "": not measured')
    options = parser.parse_args()
    from run import installed
    from cluster import Cluster
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing stays behind
    directory = inputs.ROOT / "build/bench/api"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    cluster = Cluster(options.binaries, options.programs, directory)
    try:
        installed(cluster)
        for line in measure_hooks(cluster, directory, options) if options.kb else ():
            print(line, flush=True)
        for line in measure_stored(cluster):
            print(line, flush=True)
        for line in measure_heap(cluster, options.tables) if options.tables else ():
            print(line, flush=True)
    finally:
        cluster.stop()


if __name__ == "__main__":
    main()
