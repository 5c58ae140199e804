# SPDX-License-Identifier: Apache-2.0
"""What good clients notice of hostile ones, first of as many as there is room for, then of twice as many. The hostile
have a process of their own at low priority: their cost to the server is measured, not the cost of playing them. The
server resets most of them after 10 s, or at once where there is no room; they come again."""
import ctypes
import http.client
import itertools
import json
import multiprocessing
import os
import socket
import ssl
import threading
import time
import urllib.request
import uuid

from admission import Connection, Failed

PACE_SECONDS = 0.1  # between the requests of a good connection: it waits for the server, never for itself
ROUND_SECONDS = 1.0  # every hostile connection has its turn once
OPEN_SECONDS = 60
TIMES_SLOWER = 4.0  # 2 is the aim on a quiet machine; this one may be shared, and has as few CPUs as there are
CONNECTION_KIB, BODIES_MIB = 150, 64  # the bound of docs/reference/webhook.md
KERNEL_KIB = 256  # of a connection: 128 of what it does not read, and as much of what is not read of it
ADDRESSES = [f"127.0.1.{1 + number}" for number in range(40)]  # of the hostile
API_SERVERS = [f"127.0.3.{1 + number}" for number in range(3)]  # each has less than the 1024/41 that is left to it
ROOM = 1024  # the default of --max-connections
AGENT_ROOM = 64  # of the port of probes, on agents and webhooks
LEAVING = 128  # told to go, and not gone yet
RENEWED_AFTER = 10  # requests of a good connection, beside a flood: it shakes hands among those that do not
PROBE_SECONDS = 2  # a kubelet waits 5 s for /healthz
PROBERS = 34  # a kubelet, and who scrapes


class Hostile:
    """One connection that is kept open as long as the server lets it."""

    tls, first, then = True, b"", b""

    def __init__(self, port, trust, review, address):
        self.socket = socket.create_connection(("127.0.0.1", port), 10, (address, 0))
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


class SlowHandshake(Hostile):
    """A record of TLS that is announced and comes byte by byte."""

    tls = False
    first, then = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"x"


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


def post(path, body):
    return (b"POST %s HTTP/1.1\r\nHost: webhook\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            % (path, len(body))) + body


def grown(review, change):
    """A recorded pod's review in which `change` has had its way with the pod."""
    body = json.loads(review.head + b"shape" + review.tail)
    change(body["request"]["object"])
    return post(b"/admit", json.dumps(body).encode())


def shapes(review):
    """Requests that cost as much as one may, or would if they could."""
    def vast(pod):  # as docs/reference/webhook.md lets it be
        container = pod["spec"]["containers"][0]
        container["env"] = [{"name": f"VARIABLE_{number}", "value": "x" * 50} for number in range(16)]
        pod["spec"]["containers"] = [{**container, "name": f"train-{number}"} for number in range(249)]

    def annotations(count, value=""):
        return lambda pod: pod["metadata"].update(
            annotations={f"host.nccl-env.io/{number}": value for number in range(count)})

    policy = b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"x","object":%s}}'
    return [grown(review, vast), grown(review, annotations(7000)), grown(review, annotations(100000)),
            grown(review, lambda pod: pod["spec"].update(nodeName="n" * 2900000)),
            post(b"/validate", policy % (b"[" * 500000)), post(b"/validate", policy % (b"[" + b"{}," * 340000 + b"1]")),
            post(b"/admit", b'{"x":[' + b"0," * 4000000 + b"0]}")]


class Costly(Hostile):
    """One of the shapes, again and again; replies are read."""

    made, numbers = [], itertools.count()

    def start(self, review):
        Costly.made = Costly.made or shapes(review)
        self.request, self.left = memoryview(Costly.made[next(Costly.numbers) % len(Costly.made)]), b""

    def turn(self):
        try:
            while self.socket.recv(65536):
                pass
            raise ConnectionError
        except ssl.SSLWantReadError:
            self.left = self.left or self.request
        while self.left:
            self.left = self.left[self.socket.send(self.left[:65536]):]


class KeyUpdates(Hostile):
    """Records that bring nothing, which Python's ssl cannot send."""

    tls, version, many = False, 0x0304, 64

    def start(self, _):
        lib = self.lib = ctypes.CDLL("libssl.so.3")
        for name in ("SSL_CTX_new", "SSL_new", "TLS_client_method"):
            getattr(lib, name).restype = ctypes.c_void_p
        context = ctypes.c_void_p(lib.SSL_CTX_new(ctypes.c_void_p(lib.TLS_client_method())))
        lib.SSL_CTX_ctrl(context, 124, ctypes.c_long(self.version), None)  # SSL_CTRL_SET_MAX_PROTO_VERSION
        self.ssl = ctypes.c_void_p(lib.SSL_new(context))
        lib.SSL_CTX_free(context)
        self.socket.setblocking(True)
        if lib.SSL_set_fd(self.ssl, self.socket.fileno()) != 1 or lib.SSL_connect(self.ssl) != 1:
            raise ConnectionError

    def __del__(self):
        if hasattr(self, "ssl"):
            self.lib.SSL_free(self.ssl)

    def ask(self):
        return self.lib.SSL_key_update(self.ssl, 0) == 1  # SSL_KEY_UPDATE_NOT_REQUESTED

    def turn(self):
        for _ in range(self.many):
            if not self.ask() or self.lib.SSL_do_handshake(self.ssl) != 1:
                raise ConnectionError


class Renegotiates(KeyUpdates):
    """A ClientHello inside of a session of TLS 1.2."""

    version = 0x0303

    def ask(self):
        return self.lib.SSL_renegotiate(self.ssl) == 1


class SlowRequest(Hostile):
    """Plain HTTP, byte by byte."""

    tls = False
    first, then = b"GET /metrics HTTP/1.1\r\nHost: agent\r\nX-Slow: ", b"x"


class MetricsUnread(Hostile):
    """Asks for pages until nothing more is taken, and reads none."""

    tls = False
    first = then = b"GET /metrics HTTP/1.1\r\nHost: agent\r\n\r\n"


class Scraping(Hostile):
    """Page after page, all read."""

    tls, first = False, MetricsUnread.first

    def turn(self):
        try:
            while self.socket.recv(65536):
                pass
            raise ConnectionError
        except BlockingIOError:
            self.socket.send(self.first)


KINDS = (IdleTls, SilentTcp, SlowHandshake, SlowHeader, SlowBody, NeverReads)
CHEAP = (SilentTcp, SlowHandshake)  # what costs a stranger nothing
EMPTY = (KeyUpdates, Renegotiates)
PLAIN = (SilentTcp, SlowRequest, MetricsUnread, Scraping)
COSTLY = 32  # connections with costly requests, and with records that bring nothing


class Crowd:
    """The process that plays the hostile connections, all kinds in turn."""

    def __init__(self, port, trust, review, count, kinds=KINDS, hurries=True, addresses=ADDRESSES, pause=ROUND_SECONDS):
        """`hurries`: whoever was closed comes again at once, else at its next turn. `pause`: seconds between the turns
        of a connection."""
        self.port, self.trust, self.review, self.count, self.kinds = port, trust, review, count, kinds
        self.hurries, self.addresses, self.pause = hurries, addresses, pause
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
                early = begin + position / self.count * self.pause - time.monotonic()
                if self.over.wait(0 if self.hurries and self.open.value < self.count else max(0.0, early)):
                    return
                connections[position] = self.turn(connections[position], self.kinds[position % len(self.kinds)],
                                                  self.addresses[position // len(self.kinds) % len(self.addresses)])

    def turn(self, connection, kind, address):
        try:
            if connection:
                connection.turn()
                return connection
            connection = kind(self.port, self.trust, self.review, address)
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

    def __init__(self, number, server, trust, reviews, samples, renewed_after):
        super().__init__(daemon=True)
        self.number, self.samples, self.renewed_after = number, samples, renewed_after
        self.server, self.trust, self.reviews = server, trust, reviews
        self.milliseconds, self.failure = [], ""

    def run(self):
        try:
            connection = None
            start = time.monotonic() + 0.5 + PACE_SECONDS * self.number / 34
            for number in range(self.samples):
                time.sleep(max(0.0, start + number * PACE_SECONDS - time.monotonic()))
                renew = self.renewed_after and (number + self.number) % self.renewed_after == 0
                if connection and renew:
                    connection.close()
                if not connection or renew:  # and it asks at once, as an API server does
                    connection = Connection(self.server.port, self.trust, API_SERVERS[self.number % len(API_SERVERS)])
                review, uid = self.reviews[(self.number + number) % len(self.reviews)], str(uuid.uuid4())
                request = review.bytes(uid)
                begin = time.perf_counter()
                reply = connection.ask(request)
                self.milliseconds.append((time.perf_counter() - begin) * 1000)
                review.version(reply, uid)
            connection.close()
        except Exception as error:  # whatever it is, it must end the run
            self.failure = f"good connection {self.number}: {error!r}"


class Prober(threading.Thread):
    """Asks for health and metrics at a fixed pace, as a kubelet does: from its own address, each time on a new
    connection."""

    def __init__(self, number, port, samples):
        super().__init__(daemon=True)
        self.number, self.port, self.samples = number, port, samples
        self.milliseconds, self.failure = [], ""

    def run(self):
        try:
            start = time.monotonic() + PACE_SECONDS * self.number / PROBERS
            for number in range(self.samples):
                time.sleep(max(0.0, start + number * PACE_SECONDS - time.monotonic()))
                path = ("/healthz", "/readyz", "/metrics")[number % 3]
                begin = time.perf_counter()
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PROBE_SECONDS,
                                                        source_address=(f"127.0.2.{1 + self.number}", 0))
                connection.request("GET", path)
                reply = connection.getresponse()
                if reply.status != 200 or not reply.read():
                    raise Failed(f"{path} is {reply.status}")
                connection.close()
                self.milliseconds.append((time.perf_counter() - begin) * 1000)
        except Exception as error:  # whatever it is, it must end the run
            self.failure = f"probe {self.number}: {error!r}"


def measure(server, trust, reviews, samples, connections, watch, renewed_after=0):
    """p50 and p99, in milliseconds; `watch` is called ten times a second meanwhile."""
    return run_all([Good(number, server, trust, reviews, samples, renewed_after) for number in range(connections)], watch)


def run_all(clients, watch):
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
    samples = int(options.seconds / PACE_SECONDS)
    calm = measure(server, trust, reviews, samples, connections, watch)
    alone = max(memory)
    with Crowd(server.port, trust, reviews[0], options.hostile) as crowd:
        end = time.monotonic() + OPEN_SECONDS
        while crowd.open.value < options.hostile:
            if time.monotonic() > end or not crowd.process.is_alive():
                raise Failed(f"only {crowd.open.value} of {options.hostile} hostile connections are open")
            time.sleep(0.1)
        open_seen.clear()
        beset = measure(server, trust, reviews, samples, connections, watch)
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


def tcp_mib():
    """What the kernel holds in TCP's buffers, of all of this machine."""
    with open("/proc/net/sockstat", encoding="ascii") as lines:
        words = next(line for line in lines if line.startswith("TCP:")).split()
    return int(words[words.index("mem") + 1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def flood(server, trust, reviews, options, connections):
    """A server with its default number of connections, twice as many hostile ones, costly requests, and strangers at
    the port of the probes: the good are answered all the same, on new connections, too; memory stays below its
    bound."""
    opened, memory, kernel, probes = [], [], [], []
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def watch():
        opened.append(int(server.metric("nccl_env_connections_open ")))
        memory.append(server.resident_mib())
        kernel.append(tcp_mib())
        begin = time.monotonic()
        with opener.open(f"http://127.0.0.1:{server.ops}/healthz", timeout=PROBE_SECONDS) as reply:
            if reply.status != 200:
                raise Failed(f"/healthz is {reply.status}")
        probes.append(time.monotonic() - begin)

    calm = measure(server, trust, reviews, 50, connections, watch, RENEWED_AFTER)
    opened, memory, kernel, probes = [], [], [], []
    kernel_before = tcp_mib()
    with Crowd(server.port, trust, reviews[0], 2 * ROOM, CHEAP) as crowd, \
            Crowd(server.port, trust, reviews[0], ROOM // 2), \
            Crowd(server.port, trust, reviews[0], COSTLY, (Costly,)) as costly, \
            Crowd(server.port, trust, reviews[0], COSTLY, EMPTY, hurries=False) as empty, \
            Crowd(server.ops, trust, reviews[0], 2 * 64, (SilentTcp,)):
        end = time.monotonic() + OPEN_SECONDS
        while int(server.metric("nccl_env_connections_open ")) < ROOM * 0.9:
            if time.monotonic() > end or not crowd.process.is_alive():
                raise Failed("the flood does not fill the server")
            time.sleep(0.1)
        beset = measure(server, trust, reviews, int(options.seconds / PACE_SECONDS), connections, watch, RENEWED_AFTER)
        returned = crowd.returned.value
        if not costly.process.is_alive():
            raise Failed("nobody sends costly requests")
        if not empty.returned.value:
            raise Failed("nobody was closed for records without data")
    evicted = int(server.metric("nccl_env_connections_evicted_total"))
    bound = server.bound_mib  # as the program says it
    kernel_bound = (ROOM + LEAVING) * KERNEL_KIB / 1024
    print(f"\n  beside a flood of {2 * ROOM + ROOM // 2}, p50 and p99 {beset[0]:.2f}, {beset[1]:.2f} ms;"
          f" {max(opened)} open of {ROOM}; {evicted} evicted; resident {max(memory):.1f} MiB of {bound:.0f};"
          f" kernel {max(kernel) - kernel_before:.1f} MiB of {kernel_bound:.0f}; longest probe {max(probes):.2f} s")
    if evicted == 0:
        raise Failed("nothing was evicted, so nothing was measured")
    if max(opened) > ROOM + LEAVING:
        raise Failed(f"{max(opened)} connections are open, more than {ROOM} and {LEAVING} that leave")
    if max(memory) > bound:
        raise Failed(f"resident {max(memory):.1f} MiB, more than {bound:.0f}")
    if max(kernel) - kernel_before > kernel_bound:
        raise Failed(f"the kernel holds {max(kernel) - kernel_before:.1f} MiB more, the bound is {kernel_bound:.0f}")
    return {"flood_p50_ms": beset[0], "flood_p99_ms": beset[1], "flood_p99_ratio": beset[1] / calm[1],
            "flood_connections_open": max(opened), "flood_evicted": evicted, "flood_returned": returned,
            "flood_resident_mib": max(memory), "flood_bound_mib": bound,
            "flood_kernel_mib": max(kernel) - kernel_before, "flood_longest_probe_seconds": max(probes)}


def flood_agent(agent, options):
    """An agent's one port: silent, slow and greedy strangers on far more connections than it has room for. Each probe is
    answered, and memory grows by no more than its connections may hold."""
    memory = []

    def watch():
        memory.append(agent.resident_mib())

    def probe(seconds):
        return run_all([Prober(number, agent.port, int(seconds / PACE_SECONDS)) for number in range(PROBERS)], watch)

    calm = probe(5)
    alone = max(memory)
    with Crowd(agent.port, None, None, 2 * ROOM, PLAIN) as crowd:
        end = time.monotonic() + OPEN_SECONDS
        while crowd.returned.value < AGENT_ROOM:
            if time.monotonic() > end or not crowd.process.is_alive():
                raise Failed("the flood does not fill the agent")
            time.sleep(0.1)
        beset = probe(options.seconds)
        returned = crowd.returned.value
    bound = alone + 2 * AGENT_ROOM * CONNECTION_KIB / 1024  # as many may be about to go
    print(f"\n  agent: p99 {calm[1]:.2f} ms alone, {beset[1]:.2f} beside a flood of {2 * ROOM}; {returned} of them closed;"
          f" resident {max(memory):.1f} MiB of {bound:.0f}")
    if max(memory) > bound:
        raise Failed(f"the agent's resident memory is {max(memory):.1f} MiB, more than {bound:.0f}")
    return {"agent_p99_ms": beset[1], "agent_p99_ratio": beset[1] / calm[1], "agent_returned": returned,
            "agent_resident_mib": max(memory), "agent_bound_mib": bound}
