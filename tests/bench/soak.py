#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The real webhook for minutes: every answer checked while certificate, policies and tables change each second,
a drain under load, then good clients beside 2 000 hostile ones, beside a flood of connections and of costly
requests, and probes of an agent beside a flood. Loopback only; exit code 1 with the case on any failure. The last lines are `name: value`. What they mean,
and figures: tests/bench/README.md.

  soak.py WEBHOOK [--requests 100000] [--seconds 15] [--hostile 2000]"""
import argparse
import collections
import itertools
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid

import hostile
import servers
from admission import VERSIONS, Connection, Failed, Pki, Webhook, learn_versions, put_store
from agent_cost import make_tree, wait_for

CONNECTIONS = 34
CHANGES = 6  # at least, however few requests are asked for
RENEWED = 4  # connections that shake hands anew each second
SECONDS_PER_REQUEST = 0.01  # a time limit for machines that are ten times slower than the slowest seen
GROWTH_MIB = 8  # of the last quarter over the first: buffers of a few more connections, the allocator's slack
IDLE_SECONDS = 3  # at most, from SIGTERM to the next request of a connection that is idle then; the grace is 5 s
DRAIN_SECONDS = 15  # grace 5 s, and the settling of connections


class Client(threading.Thread):
    """One connection at a time, until a reply of the last one says Connection: close."""

    def __init__(self, soak, number):
        super().__init__(daemon=True)
        self.soak, self.number = soak, number
        self.rests, self.idle = number % 4 == 0, threading.Event()  # while the server is told to end
        self.renew = self.ended = False
        self.versions, self.serials = collections.Counter(), set()
        self.handshakes = self.after_term = 0

    def run(self):
        try:
            for reviews in itertools.repeat(self.soak.reviews[self.number:] + self.soak.reviews[:self.number]):
                if self.ended or self.soak.failure:
                    break
                self.send(reviews)
        except Exception as error:  # whatever it is, it must end the run
            self.soak.failure = self.soak.failure or f"connection {self.number}: {error!r}"

    def send(self, reviews):
        for review in reviews:
            if self.rests and self.soak.resting.is_set():
                self.idle.set()
                self.soak.terminated.wait()
                time.sleep(IDLE_SECONDS * self.number / CONNECTIONS)
            elif self.renew or not self.handshakes:
                self.connect()
            uid = str(uuid.uuid4())
            reply = self.connection.ask(review.bytes(uid))
            self.versions[review.version(reply, uid)] += 1
            self.after_term += self.soak.terminated.is_set()
            if reply.close:
                if not self.soak.terminated.is_set():
                    raise Failed("told to close before SIGTERM")
                self.connection.expect_end()
                self.connection.close()
                self.ended = True
                return

    def connect(self):
        if self.handshakes:
            self.connection.close()
        self.connection = Connection(self.soak.server.port, self.soak.pki.trust)
        self.serials.add(self.connection.serial)
        self.handshakes += 1
        self.renew = False


class Soak:
    def __init__(self, server, store, pki, reviews, requests):
        self.server, self.store, self.pki, self.reviews, self.requests = server, store, pki, reviews, requests
        self.failure = ""
        self.resting, self.terminated = threading.Event(), threading.Event()
        self.clients = [Client(self, number) for number in range(CONNECTIONS)]
        self.memory = []  # answers so far, MiB

    def answered(self):
        return sum(client.versions.total() for client in self.clients)

    def change(self, tick):
        version = VERSIONS[tick % 2]
        self.pki.use(version)
        put_store(self.store, version)
        for offset in range(RENEWED):
            self.clients[(tick * RENEWED + offset) % CONNECTIONS].renew = True

    def check(self):
        if not self.failure and self.server.process.poll() is not None:
            self.failure = f"the server ended with {self.server.process.returncode}"
        if self.failure:
            raise Failed(self.failure)

    def run(self):
        begin = time.monotonic()
        for client in self.clients:
            client.start()
        tick = 0
        while self.answered() < self.requests or tick < CHANGES:
            time.sleep(0.1)
            self.check()
            seconds = time.monotonic() - begin
            if seconds > 30 + self.requests * SECONDS_PER_REQUEST:
                raise Failed(f"only {self.answered()} answers in {seconds:.0f} s")
            self.memory.append((self.answered(), self.server.resident_mib()))
            if seconds >= tick + 1:
                tick += 1
                self.change(tick)
        figures = {"soak_requests": self.answered(), "soak_seconds": time.monotonic() - begin,
                   "soak_changes": tick,
                   "soak_certificates_swapped": self.swaps("swapped")}
        if self.swaps("refused") or self.server.metric("nccl_env_store_files_refused"):
            raise Failed("a certificate or a manifest was refused")
        figures |= self.drain()
        return figures | self.judge_memory() | self.judge_variety()

    def swaps(self, outcome):
        return int(self.server.metric(f'nccl_env_certificate_reloads_total{{outcome="{outcome}"'))

    def drain(self):
        if not all(client.is_alive() for client in self.clients):
            raise Failed(self.failure or "a connection has ended before SIGTERM")
        self.resting.set()
        if not all(client.idle.wait(DRAIN_SECONDS) for client in self.clients if client.rests):
            raise Failed(self.failure or "a connection does not come to rest")
        self.terminated.set()
        begin = time.monotonic()
        self.server.process.send_signal(signal.SIGTERM)
        for client in self.clients:
            client.join(max(0.0, begin + DRAIN_SECONDS - time.monotonic()))
        if self.failure:
            raise Failed(f"while draining: {self.failure}")
        if any(client.is_alive() for client in self.clients):
            raise Failed("a connection was not told to close")
        told = time.monotonic() - begin
        try:
            code = self.server.process.wait(DRAIN_SECONDS)
        except subprocess.TimeoutExpired:
            raise Failed("the server does not end after SIGTERM") from None
        if code != 0:
            raise Failed(f"the server ended with {code} after SIGTERM")
        self.server.reader.join()
        told, dropped = self.server.decisions, self.server.dropped
        if told > self.answered() or told + dropped < self.answered():
            raise Failed(f"{told} decisions in the log and {dropped} lines dropped, but {self.answered()} answers")
        return {"log_lines_dropped": dropped,
                "drain_answers": sum(client.after_term for client in self.clients), "drain_told_seconds": told,
                "drain_seconds": time.monotonic() - begin}

    def judge_memory(self):
        """The first tenth is warm-up; quarters are of the answers after it."""
        answered = self.memory[-1][0]
        warm = answered / 10
        quarter = (answered - warm) / 4
        first = [mib for answers, mib in self.memory if warm <= answers <= warm + quarter]
        last = [mib for answers, mib in self.memory if answers >= answered - quarter]
        if not first or not last:
            raise Failed("too few requests to judge memory")
        if max(last) > max(first) + GROWTH_MIB:
            raise Failed(f"memory grows: {max(first):.1f} MiB in the first quarter, {max(last):.1f} in the last")
        return {"soak_first_quarter_mib": max(first), "soak_last_quarter_mib": max(last)}

    def judge_variety(self):
        """A soak that has not seen both sides of every change proves nothing."""
        versions = sum((client.versions for client in self.clients), collections.Counter())
        serials = set().union(*(client.serials for client in self.clients))
        if len(versions) < 2 or len(serials) < 2:
            raise Failed(f"seen only versions {dict(versions)} and {len(serials)} certificates")
        return {f"soak_of_{version}_version": versions[version] for version in VERSIONS} | {
            "soak_certificates_seen": len(serials),
            "soak_handshakes": sum(client.handshakes for client in self.clients)}


def flood_agent(options, directory):
    """As it runs on a node of 16 HCAs."""
    make_tree(directory / "sys", 16, 255)
    (directory / "tables").mkdir()
    port = servers.free_port()
    agent = servers.Server("agent", [options.webhook.with_name("nccl-env-agent"), "run", "--node-name", "node", "--sysfs",
                                     directory / "sys", "--store", f"dir:{directory / 'tables'}", "--ops-listen",
                                     f"127.0.0.1:{port}", "--log-level", "warn"], port, start_limit=20, cpu=None)
    try:
        if not wait_for(directory / "tables/node.yaml"):
            raise Failed("the agent has written no table")
        return hostile.flood_agent(agent, options)
    finally:
        agent.stop()


def run(options, directory):
    (directory / "pki").mkdir()
    pki = Pki(directory / "pki")
    reviews = learn_versions(options.webhook, directory, pki)
    server = Webhook(options.webhook, directory, pki)
    try:
        with server:
            figures = Soak(server, directory / "store", pki, reviews, options.requests).run()
        print(f"soak: {figures['soak_requests']} answers on {CONNECTIONS} connections, all of a known version;"
              f" drained in {figures['drain_seconds']:.1f} s", flush=True)
        server = Webhook(options.webhook, directory, pki, "--max-connections", str(2 * options.hostile + 1000))
        with server:
            figures |= hostile.run(server, pki.trust, reviews, options, CONNECTIONS)
        server = Webhook(options.webhook, directory, pki)
        with server:
            figures |= hostile.flood(server, pki.trust, reviews, options, CONNECTIONS)
        return figures | flood_agent(options, directory)
    except Failed:
        for line in server.complaints:
            print(line, file=sys.stderr)
        raise


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("webhook", type=pathlib.Path)
    parser.add_argument("--requests", type=int, default=100_000, help="of the soak")
    parser.add_argument("--seconds", type=int, default=15, help="of each of the three attacks")
    parser.add_argument("--hostile", type=int, default=2000, help="hostile connections")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(options.hostile, 2 * hostile.ROOM) + 1000
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise SystemExit(f"needs {wanted} file descriptors, the limit is {hard}")
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    with tempfile.TemporaryDirectory(prefix="nccl-env-soak-") as name:
        try:
            figures = run(options, pathlib.Path(name))
        except Failed as failure:
            print(f"soak: FAILED: {failure}", file=sys.stderr)
            return 1
    print()
    for key, value in figures.items():
        print(f"{key}: {value if isinstance(value, int) else format(value, '.4g')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
