# SPDX-License-Identifier: Apache-2.0
"""A control plane in a network namespace that has nothing else. Images are imported: nothing can be pulled, so the API server
has no AlwaysPullImages."""
import json
import os
import pathlib

from parts import ADDRESS, SERVICE, Parts, command
from process import eventually


class ControlPlane(Parts):
    def start(self):
        self.make_network()
        server = self.pki.issue("apiserver", "kube-apiserver", addresses=(
            f"IP:{SERVICE}", f"IP:{ADDRESS}", "IP:127.0.0.1", "DNS:kubernetes.default.svc"))
        admin = self.pki.issue("admin", "admin", "system:masters")
        self.write_kubeconfig("admin", admin)
        self.start_apiserver(server, admin)
        self.start_controllers()
        self.version = json.loads(self.kubectl("get", "--raw", "/version"))["gitVersion"]

    def make_network(self):
        """The Service "kubernetes" on loopback, since there is no kube-proxy; the rails, and the interface of the node."""
        for words in ("link set lo up", f"addr add {SERVICE}/32 dev lo"):
            command("ip", *words.split())
        rails = {f"rail{number}": f"25.11.128.{number + 2}/24" for number in range(4)}
        for name, address in {**rails, "ext0": f"{ADDRESS}/24"}.items():
            for words in (f"link add {name} type veth peer name {name}-peer", f"addr add {address} dev {name}",
                          f"link set {name} up", f"link set {name}-peer up"):
                command("ip", *words.split())
        command("ip", "route", "add", "default", "via", "10.99.0.254", "dev", "ext0")
        pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")

    def start_apiserver(self, server, admin):
        client, peer = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
        self.run_part("etcd", f"--data-dir={self.state}/etcd", f"--listen-client-urls={client}",
                      f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}",
                      f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}", "--unsafe-no-fsync",
                      "--log-level=warn")
        pki = self.pki
        self.run_part(
            "kube-apiserver", f"--etcd-servers={client}", "--bind-address=0.0.0.0", f"--advertise-address={ADDRESS}",
            "--secure-port=443", f"--tls-cert-file={server[0]}", f"--tls-private-key-file={server[1]}",
            f"--client-ca-file={pki.ca}", "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki.service_account_key}",
            f"--service-account-signing-key-file={pki.service_account_key}",
            "--service-cluster-ip-range=10.96.0.0/16", "--allow-privileged=true",
            # Hooks' Services are reached at their pods' addresses, since there is no kube-proxy. By InternalIP and
            # a certificate for it the kubelet is found without DNS: kubectl logs and exec.
            "--enable-aggregator-routing=true", "--kubelet-preferred-address-types=InternalIP",
            f"--kubelet-certificate-authority={pki.ca}", f"--kubelet-client-certificate={admin[0]}",
            f"--kubelet-client-key={admin[1]}")
        eventually("kube-apiserver is ready", self.api_is_ready)

    def api_is_ready(self):
        self.expect_alive()
        return self.kubectl("get", "--raw", "/readyz", check=False)[0] == 0

    def start_controllers(self):
        for name, more in {"kube-scheduler": [],
                           "kube-controller-manager": [
                               f"--service-account-private-key-file={self.pki.service_account_key}",
                               f"--root-ca-file={self.pki.ca}", "--use-service-account-credentials",
                               # After so long without a word a node counts as lost; Kubernetes' default is 50 s.
                               f"--node-monitor-grace-period={os.environ.get('CLUSTER_GRACE', '50s')}"]}.items():
            kubeconfig = self.write_kubeconfig(name, self.pki.issue(name, f"system:{name}"))
            self.run_part(name, f"--kubeconfig={kubeconfig}", f"--authentication-kubeconfig={kubeconfig}",
                          f"--authorization-kubeconfig={kubeconfig}", "--leader-elect=false", *more)
