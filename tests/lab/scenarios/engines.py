# SPDX-License-Identifier: Apache-2.0
"""UCX and Open MPI move bytes over the devices that are predicted: with our ucx.conf, with none, with NCCL's list copied,
with what images and users bring. The kernel counts the packets of each device."""
import json
import re

import decision
from kernel import need

IMAGE = "stock"
PACKAGES = ("libucx0", "ucx-utils", "libnuma1", "librdmacm1", "libstdc++6", "libatomic1", "libgomp1", "openmpi-bin",
            "openmpi-common", "libopenmpi3", "libpmix2", "libhwloc15", "libevent-core-2.1-7", "libevent-pthreads-2.1-7",
            "libfabric1", "libpsm-infinipath1", "libpsm2-2", "libmunge2", "libudev1", "libltdl7")
# 100, 25 Gb/s and unknown. The fastest port is not of the fabric; the last one's name begins with that of the fabric's.
DEVICES = {"mlx5_0": "eth0", "mlx5_1": "eth1", "mlx5_10": "eth2"}
OURS = "UCX_NET_DEVICES=mlx5_1:1,eth0\nUCX_IB_TRAFFIC_CLASS=96\nUCX_IB_SL=3\n"
COPIED = "=mlx5_1"  # NCCL_IB_HCA
ALONE = ("mlx5_0", "mlx5_1")  # the fastest two: UCX_MAX_RNDV_RAILS
BYTES, ROUNDS, PORTS = 1 << 20, 3, iter(range(13400, 13500))  # a port is not free at once
# Two processes of one machine would use its memory. Of soft devices UCX does not learn that a packet came over IPv4.
SOFT = {"UCX_TLS": "rc_verbs,ud_verbs,tcp,self", "UCX_UD_VERBS_ETH_DGID_CHECK": "n"}


class Case:
    """`devices` and `lanes`: what is predicted, no lane at all for a failure. `ucx_conf`: by our UCX_CONFIG_DIR, None
    without one; `home`: an image's own. `ah`: service level and traffic class that a queue pair says."""

    def __init__(self, devices, lanes=None, ucx_conf=None, home=None, ah=None, **env):
        self.devices, self.ucx_conf, self.home, self.ah, self.env = devices, ucx_conf, home, ah, env
        self.lanes = [f"rc_verbs/{device}:1" for device in devices] if lanes is None else lanes


CASES = {
    "none": Case(ALONE),
    "ours": Case(("mlx5_1",), ucx_conf=OURS, ah=("3", "96")),
    "copied": Case((), UCX_NET_DEVICES=COPIED),
    "copied without =": Case((), UCX_NET_DEVICES=COPIED[1:]),  # UCX 1.21 and later know a name without port
    "empty variable": Case((), UCX_NET_DEVICES=""),
    "ours, no annotation": Case(ALONE, ucx_conf=""),
    "ours of another node": Case((), ["tcp/eth0"], ucx_conf="UCX_NET_DEVICES=mlx5_7:1,eth0\n"),
    "user's variable beside ours": Case(("mlx5_0",), ucx_conf=OURS, UCX_NET_DEVICES="mlx5_0:1"),
    "image's file": Case(("mlx5_10",), home="UCX_NET_DEVICES=mlx5_10:1\n"),
    "image's file beside ours": Case(("mlx5_1",), ucx_conf=OURS, home="UCX_NET_DEVICES=mlx5_10:1\n"),
}
OF_MPI = ("none", "ours", "copied")


def guest():
    import guest as lab
    lab.sh("hostname lab")  # names the table; Open MPI asks for it
    for number, (device, netdev) in enumerate(DEVICES.items()):
        lab.up(netdev, f"10.{number}.0.5/24")
        lab.rxe(device, netdev)
    lab.sh("ip route add default via 10.0.0.1 dev eth0")
    lab.settle()
    lab.agent("seen", "show", "-o", "json")
    answers = {f"UCX: {name}": counted(lab, case, perftest) for name, case in CASES.items()}
    answers |= {f"Open MPI: {name}": counted(lab, CASES[name], mpi) for name in OF_MPI}
    lab.save("engines.json", answers)


def counted(lab, case, run):
    """The exit code and the log of `run`, and the packets that each device sent meanwhile."""
    import os
    import pathlib
    env = {**os.environ, **SOFT, **case.env, "UCX_LOG_LEVEL": "debug" if case.ah else "info", "HOME": "/tmp/home"}
    for folder, text in (("/tmp/home", case.home), ("/tmp/conf", case.ucx_conf)):
        file = pathlib.Path(folder, "ucx.conf")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text or "")
    if case.ucx_conf is not None:
        env["UCX_CONFIG_DIR"] = "/tmp/conf"
    before = sent(lab)
    code, log = run(lab, env)
    return {"code": code, "log": log, "sent": {name: count - before[name] for name, count in sent(lab).items()}}


def sent(lab):
    return {name: int(lab.read(lab.INFINIBAND / name / "ports/1/hw_counters/sent_pkts")) for name in DEVICES}


def perftest(lab, env):
    import subprocess
    port = next(PORTS)
    command = ["ucx_perftest", "-t", "tag_bw", "-s", str(BYTES), "-n", str(ROUNDS), "-w", "1", "-p", str(port)]
    server = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        lab.wait_for(lambda: server.poll() is not None or f":{port:04X} 00000000:0000 0A" in lab.sh("cat /proc/net/tcp"))
        done = subprocess.run([*command, "127.0.0.1"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=lab.HANG_SECONDS, check=False)
        return done.returncode, done.stdout
    finally:
        server.kill()
        server.wait()


def mpi(lab, env):
    import subprocess
    command = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", "2", "--mca", "plm", "isolated", "--mca",
               "pml", "ucx", "python3", "/lab/tests/mpi_pair.py", str(BYTES), str(ROUNDS)]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=lab.HANG_SECONDS, check=False)
    return done.returncode, done.stdout


def check_case(name, case, answer):
    used = tuple(device for device, count in answer["sent"].items() if count)
    what = f"{name}: exit {answer['code']}, packets of {answer['sent']}, and not {case.devices}:\n{answer['log'][-3000:]}"
    need(used == case.devices, what)
    if not case.lanes:
        need(answer["code"] and re.search("unreachable|PML ucx cannot be selected", answer["log"]), what)
        return
    need(answer["code"] == 0, what)
    chosen = re.findall(r"ep_cfg\[\d+\]: tag\((.*)\)", answer["log"])
    need(case.lanes in [lanes.split() for lanes in chosen], f"{name}: {case.lanes} is not in {chosen}")
    if case.devices:
        packets, least = sum(answer["sent"].values()), BYTES * ROUNDS // 1024  # their MTU
        need(packets >= least, f"{name}: {packets} packets are less than {BYTES * ROUNDS} bytes")
    said = set(re.findall(r"ah_attr .* sl=(\d+) .* traffic_class=(\d+)", answer["log"]))
    need(not case.ah or said == {case.ah}, f"{name}: service level and traffic class {said}, and not {case.ah}")


def check_program(table, programs):
    """The webhook gives what the cases call ours, on the table that the agent had here; `explain` says what UCX takes alone
    and with us, beside a user's variable and without."""
    now = decision.moment(json.loads(table)["observed"]["time"])
    spec = {"fabric": {"hcas": ["mlx5_1"]}, "socketInterface": "FromNode", "engines": ["NCCL", "UCX"],
            "env": {"NCCL_IB_TC": "96", "NCCL_IB_SL": "3"}}
    decided = decision.Decision(programs, spec, table, decision.later(now, minutes=1))
    pod = decided.pod()
    need(OURS in pod["metadata"]["annotations"].values(), f"no annotation is {OURS!r}: {json.dumps(pod, indent=1)}")
    alone, _ = said_of_ucx(decided, pod)
    need(alone == [f"{device}:1" for device in DEVICES], f"explain says that UCX alone takes {alone}")
    for name in ("ours", "copied", "empty variable", "user's variable beside ours"):
        _, ours = said_of_ucx(decided, decided.pod(**CASES[name].env))
        need(ours == [f"{device}:1" for device in CASES[name].devices], f"{name}: explain says that UCX takes {ours}")


def said_of_ucx(decided, pod):
    pod["metadata"].update(name="train", namespace="ml")
    ucx = next(engine for engine in decided.explain(pod)["engines"] if engine["engine"] == "UCX")
    return ucx["alone"]["devices"], ucx["withUs"]["devices"]


def check(results, programs):
    check_program(results["seen.out"], programs)
    answers = json.loads(results["engines.json"])
    for name, answer in answers.items():
        check_case(name, CASES[name.split(": ", 1)[1]], answer)
    return f"{len(answers)} cases, {sum(sum(answer['sent'].values()) for answer in answers.values())} packets"
