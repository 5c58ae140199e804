# SPDX-License-Identifier: Apache-2.0
"""What an agent costs that watches 16 devices: start to first publish, resident memory, CPU while nothing happens. And
what a pod that sees all of them waits for `resolve`."""
import json
import os

import compare
from kernel import need

IMAGE = "stock"
DEVICES = 16
IDLE_SECONDS = 60 if os.path.exists("/lab/long") else 20
# The emulated CPU takes 23 times as long as the one below it: 6 s are 0.3 s without emulation.
FIRST_PUBLISH_SECONDS, MEMORY_MIB, IDLE_CPU_SECONDS = 6.0, 15, 0.05
RESOLVE_SECONDS = 8.0
POLICY = json.dumps({"apiVersion": "nccl-env.io/v1alpha1", "kind": "NcclPolicy", "metadata": {"name": "lab"},
                     "spec": {"match": {"resources": [{"name": "rdma/hca"}]}, "fabric": {"hcas": ["rxe*"]}}})


def guest():
    import time

    import guest as lab
    from published import Published
    for number in range(DEVICES):
        lab.sh(f"ip link add dummy{number} type dummy")
        lab.up(f"dummy{number}", f"10.{number}.0.1/24", f"fd00:0:0:{number}::1/64")
        lab.rxe(f"rxe{number}", f"dummy{number}")
    lab.settle()
    for name, wrapper in (("verbs", ()), ("sysfs", lab.without_devices(*lab.AS_NOBODY))):
        run = Published(name, wrapper)
        slowness = lab.slowness()
        time.sleep(3)
        cpu, begin = lab.cpu_seconds(run.process.pid), time.monotonic()
        time.sleep(IDLE_SECONDS)
        lab.save(f"{name}.cost.json", {"cpu": lab.cpu_seconds(run.process.pid) - cpu, "idle": time.monotonic() - begin,
                                       "started": cpu, "memory_kib": lab.memory_kib(run.process.pid), "slowness": slowness})
        run.stop()
    slowness, begin = lab.slowness(), time.monotonic()
    lab.agent("resolve", "resolve", "--read-seconds=60", "--out", "/tmp/all.conf", env={"NCCL_ENV_POLICY": POLICY},
              wrapper=lab.without_devices(*lab.AS_NOBODY))
    lab.save("resolve.seconds", str((time.monotonic() - begin) / max(slowness, lab.slowness())))
    lab.keep("all.conf", "/tmp/all.conf")


def check(results, _programs):
    remarks = []
    for name in ("verbs", "sysfs"):
        run, cost = json.loads(results[f"{name}.json"]), json.loads(results[f"{name}.cost.json"])
        first = run["writes"][0]["time"] - run["begin"]
        memory = cost["memory_kib"] / 1024
        remark = (f"{name}: first publish {first:.2f} s, CPU to there {cost['started']:.2f} s, "
                  f"then {cost['cpu']:.2f} s in {cost['idle']:.0f} s; {memory:.1f} MiB"
                  f"{compare.slow(cost['slowness'])}")
        need(len(run["writes"]) == 1, f"{name}: {len(run['writes'])} writes of the same")
        need(first <= FIRST_PUBLISH_SECONDS * cost["slowness"] and memory <= MEMORY_MIB and cost["cpu"] <= IDLE_CPU_SECONDS, remark)
        remarks.append(remark)
    seconds = float(results["resolve.seconds"])
    need(results["all.conf"].count("rxe") == DEVICES, f"resolve: {results['all.conf']}{results['resolve.err']}")
    need(seconds <= RESOLVE_SECONDS, f"resolve took {seconds:.1f} s")
    return "; ".join([*remarks, f"resolve {seconds:.1f} s"])
