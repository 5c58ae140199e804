#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an API server notices of strangers at the door: each way to hold connections, from 1, 5, 40 and 200 addresses
and from the API server's own. Loopback only; exit code 1 where more than the documented share is lost.

  door.py WEBHOOK [--seconds 10] [--ways half,young] [--addresses 5,shared]"""
import argparse
import os
import pathlib
import resource
import sys
import tempfile
import threading
import time
import uuid

from admission import Connection, Failed, Pki, Webhook, learn_versions
from hostile import Crowd, Hostile, post

STRANGERS = 1280  # connections: more than there is room for
SMALL = post(b"/admit", b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"x","operation":'
                        b'"CREATE","namespace":"door","resource":{"group":"","version":"v1","resource":"pods"},"object":'
                        b'{"metadata":{"name":"x"},"spec":{"containers":[{"name":"x"}]}}}}')
PIPELINED = memoryview(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 19_000)  # 32 full TLS records
MOST_LOST, MOST_MS = 0.01, 5.0


class Used(Hostile):
    """One small request and its reply, then `first`."""

    begun = b""

    def start(self, _):
        self.socket.sendall(SMALL)
        if not self.socket.recv(65536):
            raise ConnectionError
        if self.begun:
            self.socket.sendall(self.begun)

    def drop_replies(self):
        """Raises where the server has closed, or once there is no more to read."""
        while self.socket.recv(65536):
            pass
        raise ConnectionError


class Half(Used):
    """Half a request, for as long as it may take."""

    begun = SMALL[:100]


class Unread(Used):
    """Requests until nothing more is taken, and no reply read."""

    then = SMALL * 50


class Fresh(Used):
    """A good request every other second."""

    turns = 0

    def turn(self):
        self.turns += 1
        if self.turns % 2 == 0:
            self.socket.send(SMALL)
        self.drop_replies()


class Pipelining(Used):
    """As many requests as are taken; replies are taken, too, but not deciphered."""

    left = b""

    def turn(self):
        try:
            while os.read(self.socket.fileno(), 1 << 20):
                pass
            raise ConnectionError
        except BlockingIOError:
            self.left = self.left or PIPELINED
        while self.left:
            self.left = self.left[self.socket.send(self.left[:16384]):]


class Young(Used):
    """Ends its request, and begins another with the same bytes: none is older than a turn's pause."""

    begun, then = SMALL[:100], SMALL[100:] + SMALL[:100]

    def turn(self):
        self.socket.send(self.then)
        self.drop_replies()


WAYS = {"half": (Half, STRANGERS, 1.0), "unread": (Unread, STRANGERS, 1.0), "fresh": (Fresh, STRANGERS, 1.0),
        "pipelining": (Pipelining, 64, 0.0), "young": (Young, STRANGERS, 0.4)}
ADDRESSES = {str(many): [f"127.0.1.{1 + number}" for number in range(many)] for many in (1, 5, 40, 200)} | {
    "shared": ["127.0.0.1"]}


def allow_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < 2 * STRANGERS:
        resource.setrlimit(resource.RLIMIT_NOFILE, (2 * STRANGERS, hard))


def wait_filled(crowds):
    end = time.monotonic() + 8
    while any(some.open.value < 0.75 * some.count for some in crowds) and time.monotonic() < end:
        time.sleep(0.1)


def crowd(way, addresses, port, trust):
    kind, count, pause = WAYS[way]
    return Crowd(port, trust, None, max(count, len(ADDRESSES[addresses])), (kind,), True, ADDRESSES[addresses], pause)


class ApiServer(threading.Thread):
    """Asks at a fixed pace, on a kept connection or on a new one each time; counts what is lost."""

    def __init__(self, server, trust, review, keeps, pace, over):
        super().__init__(daemon=True)
        self.server, self.trust, self.review, self.keeps, self.pace, self.over = server, trust, review, keeps, pace, over
        self.asked = self.lost = 0
        self.milliseconds = []

    def run(self):
        connection = None
        while not self.over.wait(self.pace):
            self.asked += 1
            try:
                connection = connection or Connection(self.server.port, self.trust)
                uid = str(uuid.uuid4())
                request = self.review.bytes(uid)
                begin = time.perf_counter()
                reply = connection.ask(request)
                self.milliseconds.append((time.perf_counter() - begin) * 1000)
                self.review.version(reply, uid)
            except (OSError, Failed):
                self.lost += 1
                connection = None
            if connection and not self.keeps:
                connection.close()
                connection = None


def measure(server, trust, review, seconds, kept):
    """Lost and asked on new and on kept connections, the median in ms, and the greatest memory in MiB."""
    over, memory = threading.Event(), []
    clients = [ApiServer(server, trust, review, keeps, 1.0 if keeps else 0.2, over)
               for keeps in (True,) * kept + (False,) * 2]
    for client in clients:
        client.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        memory.append(server.resident_mib())
        time.sleep(0.1)
    over.set()
    for client in clients:
        client.join()
    times = sorted(sum((client.milliseconds for client in clients), [])) or [float("inf")]
    count = [(sum(some.lost for some in clients if some.keeps == keeps),
              sum(some.asked for some in clients if some.keeps == keeps)) for keeps in (False, True)]
    return *count, times[len(times) // 2], max(memory)


def judged(way, addresses, server, trust, review, seconds):
    """One row of the table, and whether it holds. Behind one address the strangers may take what they want."""
    with crowd(way, addresses, server.port, trust) as strangers:
        wait_filled([strangers])
        part = 1024 // (len(ADDRESSES[addresses]) + 1)  # what is left to an API server; its new ones overlap
        new, kept, median, memory = measure(server, trust, review, seconds, min(8, part - 3))
    holds = addresses == "shared" or (
        new[0] + kept[0] <= MOST_LOST * (new[1] + kept[1]) and median <= MOST_MS)
    print(f"| {way} | {addresses} | {new[0]} of {new[1]} | {kept[0]} of {kept[1]} | {median:.1f} | {memory:.0f} of"
          f" {server.bound_mib} |{'' if holds else ' <-- too many or too slow'}", flush=True)
    return holds and memory <= server.bound_mib


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("webhook", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--ways", type=lambda text: text.split(","), default=list(WAYS))
    parser.add_argument("--addresses", type=lambda text: text.split(","), default=list(ADDRESSES))
    options = parser.parse_args()
    allow_descriptors()
    print("| way | addresses | new lost | kept lost | median ms | MiB |\n|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(prefix="nccl-env-door-") as name:
        directory = pathlib.Path(name)
        (directory / "pki").mkdir()
        pki = Pki(directory / "pki")
        review = learn_versions(options.webhook, directory, pki)[0]
        hold = True
        for way in options.ways:
            for addresses in options.addresses:
                with Webhook(options.webhook, directory, pki, "--threads", "2") as server:
                    hold &= judged(way, addresses, server, pki.trust, review, options.seconds)
    return 0 if hold else 1


if __name__ == "__main__":
    sys.exit(main())
