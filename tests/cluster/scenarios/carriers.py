# SPDX-License-Identifier: Apache-2.0
"""Every way in which a value reaches a process, on the node's network and on a pod's own."""
from image import BUSYBOX_IMAGE
from session import HCAS, expect, pod

NAME = "carriers: environment and files of processes, by each delivery, beside what image and user set"
CONSTANTS = {"NCCL_IB_TIMEOUT": "22"}
FOUND = {"NCCL_IB_HCA": "=" + ",".join(HCAS), "NCCL_IB_GID_INDEX": "3"}


def by_file(session):
    process = session.run(pod("carriers", "file"))
    expect("File, the environment", process.variables(), CONSTANTS)
    lines = process.conf()
    expect("File, node's values", {name: lines.get(name) for name in FOUND}, FOUND)
    return process, lines


def beside_env_from(session):
    """What envFrom may hold stays out of env, and the file overrides nothing."""
    for name, data, timeout in (("with", {"NCCL_IB_TIMEOUT": "19"}, "19"), ("without", {"OTHER": "1"}, "22")):
        session.api.request("POST", "/api/v1/namespaces/carriers/configmaps", {"metadata": {"name": name}, "data": data})
        has = session.run(pod("carriers", name, envFrom=[{"configMapRef": {"name": name}}])).has()
        expect(f"envFrom {name} the variable", (has["NCCL_IB_TIMEOUT"], has["NCCL_IB_HCA"]), (timeout, FOUND["NCCL_IB_HCA"]))


def restarted(session, process, lines):
    session.kill(process)
    again = session.running("carriers", "file", after=process)
    expect("after a restart", (again.variables(), again.conf()), (CONSTANTS, lines))


def ephemeral(session):
    """As `kubectl debug` adds one: it has nothing of ours, and the container beside it keeps all."""
    session.kubectl("-n", "carriers", "debug", "file", "--image", BUSYBOX_IMAGE, "--container", "debugger",
                    "--image-pull-policy", "Never", "--profile", "general", "--target", "main", "--",
                    "/bin/sleep", "60")
    debugger = session.running("carriers", "file", "debugger")
    expect("an ephemeral container", (debugger.variables(), debugger.conf()), ({}, None))
    found = session.explained("carriers", "file")
    expect("explain names the containers with values", [some["name"] for some in found["containers"] if some["injected"]],
           ["main"])


def image_and_user(session):
    """An image's ENV, its nccl.conf, the user's env and the user's own file."""
    session.load_image("nccl-env.test/own:1", env=("NCCL_IB_HCA=mlx5_9", "NCCL_IB_TIMEOUT=17"),
                       files={"/etc/nccl.conf": b"NCCL_IB_SL=3\n"})
    process = session.run(pod("carriers", "image", "nccl-env.test/own:1"))
    expect("an image's ENV for a node's value", process.has()["NCCL_IB_HCA"], "mlx5_9")
    # A constant is the policy's: the kubelet puts the pod's env over the image's.
    expect("an image's ENV for a constant", process.variables()["NCCL_IB_TIMEOUT"], "22")
    expect("an image's nccl.conf is hidden by ours", process.has().get("NCCL_IB_SL"), None)
    process = session.run(pod("carriers", "user", env=[{"name": "NCCL_IB_TIMEOUT", "value": "18"},
                                                       {"name": "NCCL_IB_HCA", "value": "mlx5_0"}]))
    expect("the user's env", {name: process.has()[name] for name in ("NCCL_IB_TIMEOUT", "NCCL_IB_HCA")},
           {"NCCL_IB_TIMEOUT": "18", "NCCL_IB_HCA": "mlx5_0"})
    session.api.request("POST", "/api/v1/namespaces/carriers/configmaps", {
        "metadata": {"name": "own"}, "data": {"nccl.conf": "NCCL_IB_SL=4\n"}})
    process = session.run(pod("carriers", "mounted", "nccl-env.test/own:1", spec={
        "volumes": [{"name": "own", "configMap": {"name": "own"}}]}, volumeMounts=[
            {"name": "own", "mountPath": "/etc/nccl.conf", "subPath": "nccl.conf"}]))
    expect("a file that the user mounts", process.conf(), {"NCCL_IB_SL": "4"})


def without_table(session, table):
    """Bound to a node whose table is gone: by file there is no line, and no variable is empty."""
    with session.without_agent():
        session.api.delete("NodeFabric", None, table)
        _, process = session.pod_that("a pod has no list", pod("carriers", "bare"), lambda _, one: "NCCL_IB_HCA" not in one.has())
        expect("without a table", process.has(), CONSTANTS)


def run(session):
    session.opt_in("carriers")
    process, lines = by_file(session)
    restarted(session, process, lines)
    ephemeral(session)
    beside_env_from(session)
    image_and_user(session)
    without_table(session, "gpu-1")
    session.clear("carriers")
