# SPDX-License-Identifier: Apache-2.0
"""What good clients notice of hostile ones. The hostile have a process of their own at low priority: their cost to
the server is measured, not the cost of playing them. The server resets most of them after 10 s; they come again."""
import multiprocessing
import os
import socket
import ssl
import threading
import time
import uuid

from admission import Connection, Failed

PACE_SECONDS = 0.1  # between the requests of a good connection: it waits for the server, never for itself
ROUND_SECONDS = 1.0  # every hostile connection has its turn once
OPEN_SECONDS = 60
TIMES_SLOWER = 4.0  # 2 is the aim on a quiet machine; this one may be shared, and has as few CPUs as there are
CONNECTION_KIB, BODIES_MIB = 150, 64  # the bound of docs/server.md


class Hostile:
    """One connection that is kept open as long as the server lets it."""

    tls, first, then = True, b"", b""

    def __init__(self, port, trust, review):
        self.socket = socket.create_connection(("127.0.0.1", port), 10)
        if self.tls:
            self.socket = trust.wrap_socket(self.socket, server_hostname="127.0.0.1")
        self.start(review)
        self.socket.setblocking(False)

    def start(self, _):
        if self.first:
            self.socket.sendall(self.first)

    def turn(self):
        """Raises where the server has closed."""
        if self.then:
            self.socket.send(self.then)
        elif not self.socket.recv(1):
            raise ConnectionError


class IdleTls(Hostile):
    pass


class SilentTcp(Hostile):
    tls = False


class SlowHeader(Hostile):
    first, then = b"POST /admit HTTP/1.1\r\nHost: webhook\r\nX-Slow: ", b"x"


class SlowBody(Hostile):
    then = b" "

    def start(self, _):
        self.socket.sendall(b"POST /admit HTTP/1.1\r\nHost: webhook\r\nContent-Type: application/json\r\n"
                            b"Content-Length: 12000\r\n\r\n" + b" " * 6000)


class NeverReads(Hostile):
    """Requests until nothing more is taken, and never a reply read."""

    def start(self, review):
        self.then = review.bytes(str(uuid.uuid4()))
        self.socket.sendall(self.then)


KINDS = (IdleTls, SilentTcp, SlowHeader, SlowBody, NeverReads)


class Crowd:
    """The process that plays the hostile connections, all kinds in turn."""

    def __init__(self, port, trust, review, count):
        self.port, self.trust, self.review, self.count = port, trust, review, count
        context = multiprocessing.get_context("fork")
        self.open, self.returned = context.Value("q", 0, lock=False), context.Value("q", 0, lock=False)
        self.over, self.parent = context.Event(), os.getpid()
        self.process = context.Process(target=self.play, daemon=True)

    def __enter__(self):
        self.process.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.process.join(10)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()

    def play(self):
        os.nice(10)
        connections = [None] * self.count
        while os.getppid() == self.parent:
            begin = time.monotonic()
            for position in range(self.count):
                early = begin + position / self.count * ROUND_SECONDS - time.monotonic()
                if self.over.wait(max(0.0, early) if self.open.value == self.count else 0):
                    return
                connections[position] = self.turn(connections[position], KINDS[position % len(KINDS)])

    def turn(self, connection, kind):
        try:
            if connection:
                connection.turn()
                return connection
            connection = kind(self.port, self.trust, self.review)
            self.open.value += 1
            return connection
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
            return connection
        except OSError:
            if connection:
                connection.socket.close()
                self.open.value -= 1
                self.returned.value += 1
            return None


class Good(threading.Thread):
    """Requests at a fixed pace, with the milliseconds that each took; every answer is checked."""

    def __init__(self, number, server, trust, reviews, samples):
        super().__init__(daemon=True)
        self.number, self.samples = number, samples
        self.server, self.trust, self.reviews = server, trust, reviews
        self.milliseconds, self.failure = [], ""

    def run(self):
        try:
            connection = Connection(self.server.port, self.trust)
            start = time.monotonic() + 0.5 + PACE_SECONDS * self.number / 34
            for number in range(self.samples):
                time.sleep(max(0.0, start + number * PACE_SECONDS - time.monotonic()))
                review, uid = self.reviews[(self.number + number) % len(self.reviews)], str(uuid.uuid4())
                request = review.bytes(uid)
                begin = time.perf_counter()
                reply = connection.ask(request)
                self.milliseconds.append((time.perf_counter() - begin) * 1000)
                review.version(reply, uid)
            connection.close()
        except Exception as error:  # whatever it is, it must end the run
            self.failure = f"good connection {self.number}: {error!r}"


def measure(server, trust, reviews, samples, connections, watch):
    """p50 and p99, in milliseconds; `watch` is called ten times a second meanwhile."""
    clients = [Good(number, server, trust, reviews, samples) for number in range(connections)]
    for client in clients:
        client.start()
    while any(client.is_alive() for client in clients):
        watch()
        time.sleep(0.1)
    for client in clients:
        if client.failure:
            raise Failed(client.failure)
    times = sorted(time for client in clients for time in client.milliseconds)
    return times[len(times) // 2], times[len(times) * 99 // 100]


def run(server, trust, reviews, options, connections):
    """The same server and clients without, then with the hostile ones."""
    open_seen, memory = [], []

    def watch():
        open_seen.append(int(server.metric("nccl_env_connections_open ")))
        memory.append(server.resident_mib())

    measure(server, trust, reviews, 20, connections, watch)
    calm = measure(server, trust, reviews, options.samples, connections, watch)
    alone = max(memory)
    with Crowd(server.port, trust, reviews[0], options.hostile) as crowd:
        end = time.monotonic() + OPEN_SECONDS
        while crowd.open.value < options.hostile:
            if time.monotonic() > end or not crowd.process.is_alive():
                raise Failed(f"only {crowd.open.value} of {options.hostile} hostile connections are open")
            time.sleep(0.1)
        open_seen.clear()
        beset = measure(server, trust, reviews, options.samples, connections, watch)
        returned = crowd.returned.value
    opened = sorted(open_seen)[len(open_seen) // 2]
    if opened < options.hostile * 0.9:
        raise Failed(f"only {opened} connections were open, so nothing was measured")
    bound = (options.hostile + connections) * CONNECTION_KIB / 1024 + BODIES_MIB
    slower = beset[1] / calm[1]
    print(f"\n  good connections: {connections}   p50 ms   p99 ms  resident\n"
          f"  alone               {calm[0]:9.2f}{calm[1]:9.2f}{alone:6.1f} MiB\n"
          f"  beside hostile      {beset[0]:9.2f}{beset[1]:9.2f}{max(memory):6.1f} MiB of {bound:.0f}")
    if slower > TIMES_SLOWER:
        raise Failed(f"p99 beside hostile connections is {slower:.2f} times as long")
    if max(memory) > bound:
        raise Failed(f"resident {max(memory):.1f} MiB, more than {bound:.0f}")
    return {"hostile_p50_ratio": beset[0] / calm[0], "hostile_p99_ratio": slower,
            "hostile_connections_open": opened, "hostile_returned": returned,
            "hostile_resident_mib": max(memory), "hostile_bound_mib": bound}
