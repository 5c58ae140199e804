# SPDX-License-Identifier: Apache-2.0
"""What an agent costs that watches 16 devices: start to first publish, resident memory, CPU while nothing happens. And
what a pod that sees all of them waits for `resolve`."""
import json
import os
import pathlib
import subprocess
import time

import compare
from kernel import need

IMAGE = "stock"
DEVICES = 16
IDLE_SECONDS = 60 if os.path.exists("/lab/long") else 20
MEMORY_MIB = 15
# The most CPU time to the first table, while nothing happens, and of `resolve`, in *readings*. A look is about one; the
# first and the last are three times what was measured.
FIRST_READINGS, IDLE_READINGS, RESOLVE_READINGS = 3.0, 0.05, 4.0
POLICY = json.dumps({"apiVersion": "nccl-env.io/v1alpha1", "kind": "NcclPolicy", "metadata": {"name": "lab"},
                     "spec": {"match": {"resources": [{"name": "rdma/hca"}]}, "gidIndex": "Pin",
                              "fabric": {"hcas": ["rxe*"]}}})


def reading_until(over):
    """Reads GID rows of sysfs, which is most of the agent's work in a look, until `over()`. Returns the CPU seconds that
    Python took for every row once: a *reading*, the unit for what the agent took meanwhile. Other work can
    suddenly make an emulated CPU ten times slower, but for Python and agent alike."""
    import guest as lab
    rows = [str(path) for path in lab.INFINIBAND.glob("*/ports/*/gids/*")]
    begin, limit, count = time.thread_time(), time.monotonic() + lab.HANG_SECONDS, 0
    while count == 0 or not over():
        if time.monotonic() > limit:
            raise RuntimeError(f"still not over after {lab.HANG_SECONDS} s")
        for number in range(count, count + 32):
            row = os.open(rows[number % len(rows)], os.O_RDONLY)
            os.read(row, 4096)
            os.close(row)
        count += 32
    return (time.thread_time() - begin) * len(rows) / count


def in_readings(command, env=None):
    """Runs `command`; its CPU time, in readings."""
    process, ended = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=env), []

    def over():
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)  # Popen cannot learn it any more
            ended.append(usage.ru_utime + usage.ru_stime)
        return ended
    reading = reading_until(over)
    return ended[0] / reading


def resolve():
    """Seconds of `resolve`, and its CPU time beyond that of an agent that is started in the same way and does nothing."""
    import guest as lab
    conf, command = "/tmp/nccl.conf", lab.without_devices(*lab.AS_NOBODY, lab.AGENT)
    start, begin = in_readings([*command, "--version"]), time.monotonic()
    cpu = in_readings([*command, "resolve", f"--read-seconds={lab.READ_SECONDS}", "--out", conf],
                      {**os.environ, "NCCL_ENV_POLICY": POLICY})
    lab.save("resolve.json", {"seconds": time.monotonic() - begin, "readings": cpu - start, "slowness": lab.slowness()})
    lab.save("resolve.conf", pathlib.Path(conf).read_text())


def guest():
    import guest as lab
    from published import Published
    for number in range(DEVICES):
        lab.sh(f"ip link add dummy{number} type dummy")
        lab.up(f"dummy{number}", f"10.{number}.0.1/24", f"fd00:0:0:{number}::1/64")
        lab.rxe(f"rxe{number}", f"dummy{number}")
    lab.settle()
    for name, wrapper in (("verbs", ()), ("sysfs", lab.without_devices(*lab.AS_NOBODY))):
        run = Published(name, wrapper, reading_until)
        looks, cpu, begin = run.looks(), lab.cpu_seconds(run.process.pid), time.monotonic()
        time.sleep(IDLE_SECONDS)
        cpu, idle = lab.cpu_seconds(run.process.pid) - cpu, time.monotonic() - begin
        lab.save(f"{name}.cost.json", {
            "cpu": cpu, "idle": idle, "first": {"cpu": run.cpu, "reading": run.waited}, "looks": [looks, run.looks()],
            "memory_kib": lab.memory_kib(run.process.pid), "slowness": lab.slowness()})
        run.stop()
    resolve()


def check(results, _programs):
    remarks = []
    for name in ("verbs", "sysfs"):
        run, cost = json.loads(results[f"{name}.json"]), json.loads(results[f"{name}.cost.json"])
        first = run["writes"][0]["time"] - run["begin"]
        reading, memory = cost["first"]["reading"], cost["memory_kib"] / 1024
        readings = cost["first"]["cpu"] / reading
        remark = (f"{name}: first publish {first:.2f} s, CPU to there {cost['first']['cpu']:.2f} s or "
                  f"{readings:.2f} readings, then {cost['cpu']:.2f} s in {cost['idle']:.0f} s; "
                  f"{memory:.1f} MiB{compare.slow(cost['slowness'])}")
        need(len(run["writes"]) == 1, f"{name}: {len(run['writes'])} writes of the same")
        need(cost["looks"] == [1, 1], f"{name}: looks while nothing happened: {cost['looks']}")
        need(readings <= FIRST_READINGS and memory <= MEMORY_MIB and
             cost["cpu"] <= IDLE_READINGS * reading, remark)
        remarks.append(remark)
    need(results["resolve.conf"].count("rxe") == DEVICES, f"resolve: {results['resolve.conf']}")
    cost = json.loads(results["resolve.json"])
    remarks.append(f"resolve {cost['seconds']:.2f} s or {cost['readings']:.2f} readings{compare.slow(cost['slowness'])}")
    need(cost["readings"] <= RESOLVE_READINGS, remarks[-1])
    return "; ".join(remarks)
