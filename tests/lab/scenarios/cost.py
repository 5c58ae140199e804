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
MEMORY_MIB = 15
# CPU, in readings: what Python takes at the same time in the same guest to read every GID row of sysfs. Three times what
# was measured to the first publish; a look is about one.
FIRST_READINGS, IDLE_READINGS = 3.0, 0.05
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
        looks, cpu, begin = run.looks(), lab.cpu_seconds(run.process.pid), time.monotonic()
        time.sleep(IDLE_SECONDS)
        cpu, idle = lab.cpu_seconds(run.process.pid) - cpu, time.monotonic() - begin
        lab.save(f"{name}.cost.json", {
            "cpu": cpu, "idle": idle, "first": run.first, "looks": [looks, run.looks()],
            "memory_kib": lab.memory_kib(run.process.pid), "slowness": lab.slowness()})
        run.stop()
    lab.resolve("all", POLICY, lab.without_devices(*lab.AS_NOBODY))


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
    need(results["all.conf"].count("rxe") == DEVICES, f"resolve: {results['all.conf']}{results['all.err']}")
    return "; ".join([*remarks, compare.resolve_cost(results, "all")])
