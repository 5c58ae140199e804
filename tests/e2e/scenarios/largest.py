# SPDX-License-Identifier: Apache-2.0
"""The pod whose patch has as many operations as one may have: created, bound and changed afterwards, and what the API
server's processor does for it."""
import os
import pathlib
import statistics
import time

from objects import HCA, annotations_of, env_of, expect, given, hca_list, pod, policy, table
from process import Failed

NAME = "23 largest: the pod with the longest patch is created, bound and changed afterwards"
CONTAINERS, ENTRIES = 256, 16  # as many of each as one pod may have
PAIRS = 8
WITH, WITHOUT = "largest-with", "largest-without"
RAILS = ["mlx5_1", "mlx5_2"]
CONSTANTS = {"NCCL_IB_TIMEOUT": "22", "NCCL_IB_QPS_PER_CONNECTION": "4"}


def of_containers(count, namespace, name):
    made = pod(namespace, name, env=[{"name": f"VARIABLE_{number}", "value": "x" * 50} for number in range(ENTRIES)],
               schedulerName="none")
    one = made["spec"]["containers"][0]
    made["spec"]["containers"] = [{**one, "name": f"train-{number}"} for number in range(count)]
    return made


def most_containers(cluster):
    """Of a pod that is still patched."""
    most, too_many = 0, CONTAINERS + 1
    while too_many - most > 1:
        count = (most + too_many) // 2
        mounts = cluster.would_be(of_containers(count, WITH, "tried"))["spec"]["containers"][0].get("volumeMounts", [])
        if any(mount["mountPath"] == "/etc/nccl.conf" for mount in mounts):
            most = count
        else:
            too_many = count
    return most


def cpu_ms(process):
    """Milliseconds of the processor that it has had."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def judged(cluster, name):
    """What every container has, once the pod has a node and a label more."""
    cluster.api.bind(WITH, name, "node-a")
    cluster.api.merge("Pod", WITH, name, {"metadata": {"labels": {"changed": "afterwards"}}})
    cluster.api.merge("Pod", WITH, name, {"status": {"phase": "Running"}}, "status")
    found = cluster.api.get("Pod", WITH, name)
    expect("its value", given(annotations_of(found)), hca_list(RAILS))
    expect("its phase", found["status"]["phase"], "Running")
    for number, container in enumerate(found["spec"]["containers"]):
        env = env_of(found, number)
        wanted = {"NCCL_IB_HCA": hca_list(RAILS), "NCCL_IB_GID_INDEX": "3", **CONSTANTS}
        expect(f"env of {container['name']}", {key: env.get(key) for key in wanted}, wanted)
        if len(container["env"]) < ENTRIES + len(CONSTANTS):
            raise Failed(f"{container['name']} lost what its user set")


def run(cluster):
    cluster.api.apply(table("node-a", RAILS))
    cluster.put_policy(policy("largest", env=CONSTANTS))
    cluster.opt_in(WITH, "largest")
    cluster.plane.add_namespace(WITHOUT)
    count = most_containers(cluster)
    spent, waited = {WITH: [], WITHOUT: []}, {WITH: [], WITHOUT: []}
    for number in range(PAIRS):
        for namespace in (WITH, WITHOUT) if number % 2 else (WITHOUT, WITH):
            before, begin = cpu_ms(cluster.plane.apiserver), time.monotonic()
            cluster.api.create(of_containers(count, namespace, f"pod-{number}"))
            waited[namespace].append((time.monotonic() - begin) * 1000)
            spent[namespace].append(cpu_ms(cluster.plane.apiserver) - before)
    judged(cluster, "pod-0")
    ours = [entry["micros"] / 1000 for replica in cluster.webhooks.replicas.values() for entry in replica.decisions()
            if (entry["namespace"], entry["resource"]) == (WITH, "pod")]
    cluster.clear(WITH, WITHOUT)
    (cpu, cpu_without), (clock, clock_without) = [
        [statistics.median(figures[some]) for some in (WITH, WITHOUT)] for figures in (spent, waited)]
    return (f"{count} containers: a create takes {clock:.0f} ms, {clock_without:.0f} without the webhook, whose part is "
            f"{statistics.median(ours):.1f} ms; the API server's processor {cpu:.0f} ms, {cpu_without:.0f} without")
