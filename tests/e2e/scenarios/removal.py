# SPDX-License-Identifier: Apache-2.0
"""docs/operate/install.md on leaving, command by command. Nothing is installed after it."""
import os
import re
import subprocess
import threading

from api import Refused
from cluster import SOURCE
from objects import HCA, SPACES, env_of, expect, hca_list, ours, pod, policy, table
from process import PATIENCE, Failed, eventually

NAME = "8 removal: as the documentation says, and bound pods keep their values"
RAILS = ["mlx5_1", "mlx5_2"]


def steps():
    """The commands of the three steps under Uninstall."""
    text = (SOURCE / "docs/operate/install.md").read_text()
    block = re.search(r"## Uninstall.*?```sh\n(.*?)```", text, re.S)[1]
    return [part for part in re.split(r"^# .*\n", block, flags=re.M) if part.strip()]


def shell(cluster, commands):
    plane = cluster.plane
    environment = {**os.environ, "KUBECONFIG": str(plane.kubeconfig),
                   "PATH": f"{cluster.programs}:{plane.kubectl_program.parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=SOURCE, env=environment,
                          capture_output=True, text=True, timeout=3 * PATIENCE)  # several waits
    if done.returncode:
        raise Failed(f"{commands}: {done.stderr.strip()}")
    return done.stdout


def play_kubelet(cluster, stopping):
    """Pods of a namespace that is going need somebody to say that they have ended."""
    while not stopping.wait(0.5):
        for space, some in [(space, some) for space in SPACES.values() for some in cluster.api.list("Pod", space)]:
            if "deletionTimestamp" in some["metadata"]:
                try:
                    cluster.api.delete("Pod", space, some["metadata"]["name"], grace=0)
                except Refused:
                    pass  # gone already


def run(cluster):
    api, (first, waiting, rest) = cluster.api, steps()
    api.apply(table("node-a", RAILS))
    cluster.put_policy(policy("leaving"))
    cluster.opt_in("leaving", "leaving")
    cluster.follows("leaving", "node-a", HCA, hca_list(RAILS))
    api.create(pod("leaving", "bound", node="node-a"))
    before = ours(cluster.bound("leaving", "bound"))
    api.create(pod("leaving", "gated", node="node-a", schedulingGates=[{"name": "e2e.nccl-env.io/hold"}]))

    shell(cluster, first)
    eventually("creates are left alone", lambda: not ours(cluster.would_be(pod("leaving", "probe"))))
    api.create(pod("leaving", "later", node="node-a"))
    expect("env of a pod after step 1", cluster.bound("leaving", "later")["spec"]["containers"][0].get("env"), None)
    done = threading.Event()
    waits = threading.Thread(target=lambda: (shell(cluster, waiting), done.set()), daemon=True)
    waits.start()
    waits.join(3)
    expect("step 2 ended while a pod waits", done.is_set(), False)
    api.merge("Pod", "leaving", "gated", {"spec": {"schedulingGates": []}})
    expect("HCA list of the pod that waited", env_of(cluster.bound("leaving", "gated")).get("NCCL_IB_HCA"),
           hca_list(RAILS))
    waits.join(PATIENCE)
    expect("step 2 ended once no pod waits", done.is_set(), True)

    stopping = threading.Event()
    threading.Thread(target=play_kubelet, args=(cluster, stopping), daemon=True).start()
    try:
        shell(cluster, rest)
    finally:
        stopping.set()
    expect("annotations of a bound pod", ours(api.get("Pod", "leaving", "bound")), before)
