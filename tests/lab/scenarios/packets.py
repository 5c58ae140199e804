# SPDX-License-Identifier: Apache-2.0
"""`fabric-test` by packets of soft RoCE: members of two rails each, a switch (a bridge) for each rail, and each fault that a
fabric has. The journal names the link, the step, its end and its error."""
import json

from kernel import need

IMAGE = "stock"
MEMBERS = "abc"
RAILS = (1, 2)
TOKEN = "b1946ac92492d2347c6235b4d2611184"


def guest():
    import guest as lab
    # All interfaces are of one namespace, because rxe receives in the first alone. Addresses of this machine are found on
    # the wire all the same: `local` is asked last, but for what comes in from a wire.
    lab.sh("ip rule add pref 2000 lookup local && ip rule del pref 0")
    for name, value in (("accept_local", 1), ("rp_filter", 0), ("arp_ignore", 1), ("arp_announce", 2)):
        for place in ("all", "default"):
            lab.sh(f"echo {value} > /proc/sys/net/ipv4/conf/{place}/{name}")
    lab.sh("ip rule add pref 5 iif lo to 127.0.0.0/8 lookup local && ip link set lo up")
    for rail in (*RAILS, 9):  # 9: leads nowhere
        lab.sh(f"ip link add sw{rail} type bridge && ip link set sw{rail} mtu 4200 up")
    for number, member in enumerate(MEMBERS, 1):
        for rail in RAILS:
            port, address = f"{member}{rail}", f"10.{rail}.0.{number}"
            lab.sh(f"ip link add {port} mtu 4200 type veth peer name p{port} mtu 4200 && ip link set p{port} master sw{rail} up && "
                   f"ip rule add pref {10 * number + rail} iif {port} lookup local")
            lab.up(port, f"{address}/24")
            # From its own address each port reaches its network by itself.
            lab.sh(f"ip rule add pref {1000 + 10 * number + rail} from {address} lookup {100 + 10 * number + rail} && "
                   f"ip route add 10.{rail}.0.0/24 dev {port} src {address} table {100 + 10 * number + rail}")
            lab.rxe(f"rx{port}", port)
    lab.settle()
    lab.agent("seen", "show", "-o", "json")
    Cases(lab).run()


class Cases:
    def __init__(self, lab):
        self.lab = lab

    def member(self, name, place, members, *options, wrapper=(), **env):
        """Starts a member, whose journal and remarks come into files."""
        import os
        import subprocess
        member = MEMBERS[place]
        files = [open(f"/tmp/results/{name}.{member}.{kind}", "w") for kind in ("out", "err")]  # pylint: disable=R1732
        variables = {"NCCL_IB_HCA": f"=rx{member}1,rx{member}2", "FABRIC_TEST_TOKEN": TOKEN, "NODE_NAME": f"node-{member}",
                     "JOB_COMPLETION_INDEX": str(place)}
        return subprocess.Popen([*wrapper, self.lab.AGENT, "fabric-test", "--members", str(members), "--collector",
                                 "127.0.0.1", *options],
                                env={**os.environ, **variables, **env}, stdout=files[0], stderr=files[1])

    def journal(self, name):
        return self.lab.read(self.lab.RESULTS / f"{name}.a.out") or ""

    def case(self, name, before="true", after="true", members=2, meanwhile=None, options=(), **envs):
        """All members to their ends; `envs`: of each member. `meanwhile`: once the first one leads."""
        import time
        self.lab.sh(before)
        begin = time.monotonic()
        running = {0: self.member(name, 0, members, *options)}
        self.lab.wait_for(lambda: '"expected"' in self.journal(name))
        if meanwhile:
            meanwhile(name, running)
        for place in range(members):
            if place not in running:
                running[place] = self.member(name, place, members, **envs.get(MEMBERS[place], {}))
        codes = [process.wait(self.lab.HANG_SECONDS) for process in running.values()]
        self.lab.save(f"{name}.codes", codes)
        self.lab.save(f"{name}.seconds", f"{time.monotonic() - begin:.1f}")
        self.lab.sh(after)

    def run(self):
        self.case("well", members=3)
        self.case("cross rails", options=["--cross-rails"])
        self.case("rail down", "ip link set b2 down", "ip link set b2 up && sleep 1")
        self.case("empty row", b={"NCCL_IB_GID_INDEX": "9"})
        self.case("link-local row", b={"NCCL_IB_GID_INDEX": "0"})
        self.case("small MTU", "ip link set b1 mtu 1500", "ip link set b1 mtu 4200")
        self.case("small MTU between", "ip link set pb1 mtu 1500", "ip link set pb1 mtu 4200")
        self.case("little memory", b={"wrapper": (*self.lab.AS_NOBODY, "sh", "-c", 'ulimit -l 4 && exec "$0" "$@"')})
        self.case("other switch", "ip link set pb1 master sw9; ip neigh flush all", "ip link set pb1 master sw1")
        self.case("no route", "ip link set pb1 master sw9; ip addr del 10.1.0.2/24 dev b1; ip addr add 10.7.0.2/24 dev b1",
                  "ip link set pb1 master sw1; ip addr del 10.7.0.2/24 dev b1; ip addr add 10.1.0.2/24 dev b1; "
                  "ip route add 10.1.0.0/24 dev b1 src 10.1.0.2 table 121")
        self.case("killed", members=3, meanwhile=self.kill)
        self.case("strangers", meanwhile=self.strangers)

    def kill(self, name, running):
        """The second member stops, and is killed when the others have been tried."""
        import signal
        running[1] = self.member(name, 1, 3)
        self.lab.wait_for(lambda: '"node-b"' in self.journal(name))
        running[1].send_signal(signal.SIGSTOP)
        running[2] = self.member(name, 2, 3)
        self.lab.wait_for(lambda: '"from":0,"to":2' in self.journal(name))
        running[1].kill()

    def strangers(self, name, running):
        """None of them hears a word."""
        import socket
        heard = {}
        for what, said in {"no token": b"hello\n", "a wrong one": TOKEN[::-1].encode() + b' {"place":1,"node":"x","rails":[]}\n',
                           "no end": b"x" * 100_000, "nothing": b""}.items():
            with socket.create_connection(("127.0.0.1", 7471), timeout=60) as stranger:
                try:
                    stranger.sendall(said)
                    heard[what] = stranger.recv(100).decode()
                except ConnectionError:
                    heard[what] = ""
        self.lab.save(f"{name}.heard", heard)


# "from-to: how, rails and the step that failed, its end and error". An end that fails releases its queue pair, and the
# other one's packets then fail, too.
SOUND = "network 0-0 1-1"
PAIRS = {
    "well": {"0-1": SOUND, "0-2": SOUND, "1-2": SOUND},
    "cross rails": {"0-1": "cross 0-0 0-1:connect/both/110 1-0:connect/both/110 1-1"},
    "rail down": {"0-1": "network 0-0"},
    "empty row": {"0-1": "place"},
    "link-local row": {"0-1": "place"},
    "small MTU": {"0-1": SOUND},
    "small MTU between": {"0-1": "network 0-0:packets/both/12 1-1"},
    "little memory": {"0-1": "network"},
    "other switch": {"0-1": "network 0-0:connect/both/110 1-1"},
    "no route": {"0-1": "place 0-0:connect/both/110 1-1"},
    "killed": {"0-1": "network 0-0:answer/to 1-1:answer/to", "1-2": "network 0-0:answer/from 1-1:answer/from", "0-2": SOUND},
    "strangers": {"0-1": SOUND},
}
# Steps of the second member's rails that fail without a peer.
ALONE = {"rail down": [None, "port"], "empty row": ["row/61", "row/61"], "link-local row": ["row", "row"],
         "little memory": ["memory/12", "memory/12"]}


def link_text(link):
    failed = "/".join(str(link[name]) for name in ("step", "end", "error") if name in link)
    return f"{link['from']}-{link['to']}" + (f":{failed}" if failed else "")


def check_case(name, results):
    lines = [json.loads(line) for line in results[f"{name}.a.out"].splitlines()]
    what = f"{name}:\n{results[f'{name}.a.out']}{results[f'{name}.a.err']}"
    need(lines[-1] == {"ended": True}, what)
    pairs = {f"{pair['from']}-{pair['to']}": " ".join([pair["by"], *map(link_text, pair["links"])])
             for line in lines for pair in line.get("pairs", [])}
    need(pairs == PAIRS[name], f"{what}not {PAIRS[name]}")
    rails = next(member["rails"] for line in lines for member in line.get("members", []) if member["place"] == 1)
    steps = ["/".join(str(rail[key]) for key in ("step", "error") if key in rail) or None for rail in rails]
    need(steps == ALONE.get(name, [None, None]), f"{what}steps {steps}")
    codes = json.loads(results[f"{name}.codes"])
    killed = name == "killed"
    need([line["left"] for line in lines if "left" in line] == ([1] if killed else []), what)
    need(codes == ([0, -9, 0] if killed else [0] * len(codes)), f"{name}: exit codes {codes}")
    if name == "small MTU":
        need([rail["mtu"] for rail in rails] == [1024, 4096], what)


def check(results, _):
    for name in PAIRS:
        check_case(name, results)
    heard = json.loads(results["strangers.heard"])
    need(len(heard) == 4 and not any(heard.values()), f"strangers heard {heard}")
    seconds = [float(results[f"{name}.seconds"]) for name in PAIRS]
    return f"{len(PAIRS)} tests of {min(seconds)} to {max(seconds)} s"
