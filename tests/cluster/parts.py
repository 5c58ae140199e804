# SPDX-License-Identifier: Apache-2.0
"""Programs of a cluster in one folder, with one CA: those of the control plane, or of a node."""
import json
import os
import pathlib
import subprocess

from pki import Pki
from process import Failed, Process

ADDRESS, SERVICE = "10.99.0.1", "10.96.0.1"


def command(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


class Parts:
    def __init__(self, binaries, state):
        self.binaries, self.state, self.parts = pathlib.Path(binaries), pathlib.Path(state), []
        (self.state / "log").mkdir(exist_ok=True)
        self.pki = Pki(self.state / "pki")
        self.kubeconfig = self.state / "admin.conf"

    def run_part(self, name, *arguments, program=None, enter=()):
        """`enter`: the words before it that lead into another namespace."""
        if name == os.environ.get("CLUSTER_GATE_OFF"):  # as a release has it that is older than the gate
            arguments += ("--feature-gates=EnvFiles=false",)
        part = Process(name, [*enter, program or self.binaries / name, *arguments], self.state / "log" / name,
                       env={**os.environ, "GOGC": "200"}, start_new_session=True)  # Ctrl-C is for us alone
        self.parts.append(part)
        return part

    def write_kubeconfig(self, name, certificate):
        path = self.state / f"{name}.conf"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "cluster",
            "clusters": [{"name": "cluster", "cluster": {"server": f"https://{ADDRESS}:443",
                                                         "certificate-authority": str(self.pki.ca)}}],
            "users": [{"name": "user", "user": {"client-certificate": str(certificate[0]),
                                                "client-key": str(certificate[1])}}],
            "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": "user"}}]}))
        return path

    def kubectl(self, *arguments, check=True, stdin=None):
        """Returns the output; with `check` false, the exit code and the output or the errors."""
        done = subprocess.run([self.binaries / "kubectl", "--kubeconfig", self.kubeconfig, *map(str, arguments)],
                              capture_output=True, text=True, input=stdin, check=False)
        if not check:
            return done.returncode, done.stdout or done.stderr
        if done.returncode:
            raise Failed(f"kubectl {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def expect_alive(self):
        for part in self.parts:
            part.expect_alive()

    def stop(self):
        """The parts can still say why they failed."""
        for part in reversed(self.parts):
            part.end(limit=2)
        self.parts.clear()
