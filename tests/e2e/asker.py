# SPDX-License-Identifier: Apache-2.0
"""nccl-env as its users start it: as a tenant with the rights of his namespace, or as an administrator."""
import json
import os
import subprocess

from api import Refused
from process import PATIENCE, Failed, eventually


class Asker:
    def __init__(self, cluster, kubeconfig, program="nccl-env"):
        self.program, self.kubeconfig = cluster.programs / program, kubeconfig
        self.log = cluster.directory / "asked.log"

    def run(self, *arguments):
        """Exit code, output, errors."""
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE,
                              env={**os.environ, "KUBECONFIG": str(self.kubeconfig)})
        with self.log.open("a") as log:
            log.write(f"$ {self.program.name} {' '.join(map(str, arguments))}  # {self.kubeconfig}: code "
                      f"{done.returncode}\n{done.stdout}{done.stderr}\n")
        return done.returncode, done.stdout, done.stderr

    def told(self, code, *arguments):
        """The output of a run that has to end with this code and print no errors."""
        found, out, err = self.run(*arguments)
        if found != code or err:
            raise Failed(f"nccl-env {' '.join(map(str, arguments))}: code {found} instead of {code}: {err or out}")
        return out

    def json(self, code, *arguments):
        return json.loads(self.told(code, *arguments, "-o", "json"))


def tenant(cluster, namespace, name, role, kind="ClusterRole"):
    """A service account that has this role in its namespace and nothing else."""
    cluster.kubectl("create", "serviceaccount", name, "-n", namespace)
    cluster.api.request("POST", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]})
    token = cluster.directory / f"{name}.token"
    token.write_text(cluster.plane.token(name, namespace))
    api = cluster.api.as_token(token.read_text())

    def may_read():  # the API server follows new bindings of roles a moment later
        try:
            return api.request("GET", f"/api/v1/namespaces/{namespace}/pods?limit=1")
        except Refused:
            return None
    eventually(f"{name} may read pods", may_read)
    return Asker(cluster, cluster.plane.write_kubeconfig(name, token_file=token))
