#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts the cluster in the namespaces that `run` has made, installs nccl-env and runs a command.

  run.py BINARIES PROGRAMS STATE [COMMAND]"""
import os
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
from installation import Installation, archives  # noqa: E402
from node import Node  # noqa: E402
from parts import command as run_program  # noqa: E402
from plane import ControlPlane  # noqa: E402
from process import Failed  # noqa: E402

HELP = """
A node with four RoCE rails, and nccl-env beside it. Try:
  kubectl get pods -A
  nccl-env check
  nccl-env nodes gpu-1
  kubectl apply -f tests/cluster/train.yaml && kubectl -n ml wait --for=condition=Ready pod/train
  kubectl -n ml exec train -- cat /etc/nccl.conf
  nccl-env explain pod/train -n ml
The shell's end is the cluster's.
"""


def hide_folders():
    """Those that containerd, runc and the kubelet use whatever they are told: what they leave is gone with the namespace. The
    pods' logs are on a small disk, which a scenario fills."""
    for folder in ("/run/netns", "/run/containerd", "/var/log/containers", "/var/log/pods"):
        os.makedirs(folder, exist_ok=True)
        run_program("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", folder)


def run_command(plane, programs, command):
    environment = {**os.environ, "KUBECONFIG": str(plane.kubeconfig), "NCCL_ENV_CLUSTER": str(plane.state),
                   "PATH": f"{programs}:{plane.binaries}:{os.environ['PATH']}"}
    if command:
        return subprocess.run(["bash", "-c", command], env=environment, check=False).returncode
    print(HELP, flush=True)
    return subprocess.run([os.environ.get("SHELL", "/bin/bash")], env=environment, check=False).returncode


def main():
    binaries, programs, state = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background is started without it
    begin = time.monotonic()

    def say(what):
        print(f"cluster: {what} after {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    hide_folders()
    plane, node = ControlPlane(binaries, state), Node(binaries, state)
    try:
        plane.start()
        node.start(archives(state))
        say(f"Kubernetes {plane.version} has a node")
        Installation(plane, state).install()
        say("nccl-env is installed, its policy accepted, the node's table written")
        return run_command(plane, programs, sys.argv[4] if len(sys.argv) > 4 else "")
    except KeyboardInterrupt:
        return 130
    except Failed as problem:
        print(f"cluster: {problem}", file=sys.stderr)
        return 1
    finally:
        node.stop()
        plane.stop()


if __name__ == "__main__":
    sys.exit(main())
