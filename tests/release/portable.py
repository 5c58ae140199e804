#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line as one file (scripts/portable), in a root that holds nothing else: commands, and a cluster over TLS by
its address, by /etc/hosts and by DNS, where the root's configuration names libraries that are not to be loaded. Needs
root; the network is one of its own. A file for another architecture runs under QEMU.

  portable.py FILE…
  portable.py --root DIR FILE      in the root of another system (its glibc, nsswitch.conf, …), of which it overwrites /etc"""
import fcntl
import http.server
import json
import os
import pathlib
import re
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/machines"))
import tree  # noqa: E402

MOST_BYTES = 10_000_000
PORT = 6443
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
POD = """apiVersion: v1
kind: Pod
metadata: {name: train, namespace: ml}
spec:
  hostNetwork: true
  containers:
  - name: main
    image: train
    resources: {limits: {rdma/hca: "1"}}
"""


class Api(http.server.BaseHTTPRequestHandler):
    """A cluster with one node's table."""

    def do_GET(self):
        table = {"apiVersion": "nccl-env.io/v1alpha1", "kind": "NodeFabric",
                 "metadata": {"name": "of-the-cluster", "resourceVersion": "1"},
                 "observed": {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "ports": []}}
        items = [table] if "nodefabrics" in self.path else []
        body = json.dumps({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def certificate(folder, name, names):
    """A certificate that is its own authority."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName={names}", "-keyout",
                    folder / f"{name}.key", "-out", folder / f"{name}.crt"], check=True, capture_output=True)


def serve_api(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Api)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "api.crt", folder / "api.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def serve_dns():
    """Knows that in-dns.test is 127.0.0.1, and of no other address."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))

    def answer():
        while True:
            query, peer = server.recvfrom(512)
            end = query.index(b"\0", 12) + 5
            known = query[12:end] == b"\x06in-dns\x04test\0" + struct.pack("!HH", 1, 1)
            head = query[:2] + struct.pack("!HHHHH", 0x8180, 1, known, 0, 0)
            record = struct.pack("!HHHIH4s", 0xc00c, 1, 1, 60, 4, bytes((127, 0, 0, 1))) if known else b""
            server.sendto(head + query[12:end] + record, peer)

    threading.Thread(target=answer, daemon=True).start()


def kubeconfig(host, authority=None):
    cluster = {"server": f"https://{host}:{PORT}"} | ({"certificate-authority": authority} if authority else {})
    return json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "one",
                       "contexts": [{"name": "one", "context": {"cluster": "one", "user": "one"}}],
                       "clusters": [{"name": "one", "cluster": cluster}],
                       "users": [{"name": "one", "user": {"token": "secret"}}]})


class Root:
    def __init__(self, path, file):
        self.path, self.emulator = path, []
        self.put("srv/nccl-env", file.read_bytes(), 0o755)
        machine = subprocess.run(["readelf", "--file-header", file], capture_output=True, text=True, check=True).stdout
        if ("AArch64" in machine) != (os.uname().machine == "aarch64"):
            emulator = pathlib.Path("build/qemu-aarch64")  # in the checkout, which scripts/in-root shares
            subprocess.run(["scripts/in-root", "arm64", "cp", "/usr/bin/qemu-aarch64", emulator], check=True, cwd=SOURCE)
            self.put("srv/qemu", (SOURCE / emulator).read_bytes(), 0o755)
            self.emulator = ["/srv/qemu"]
        (path / "proc").mkdir(exist_ok=True)

    def __enter__(self):
        subprocess.run(["mount", "-t", "proc", "proc", self.path / "proc"], check=True)
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", self.path / "proc"], check=True)

    def put(self, name, text, mode=0o644):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(mode)

    def run(self, *arguments, **environment):
        done = subprocess.run(["/usr/sbin/chroot", "--userspec=1000:1000", self.path, *self.emulator, "/srv/nccl-env", *arguments],
                              capture_output=True, text=True, check=False, env={"PATH": "/nowhere", **environment})
        return done.returncode, done.stdout, done.stderr


def expect(root, arguments, pattern, code=0, **environment):
    returned, out, err = root.run(*arguments, **environment)
    if returned != code or not re.search(pattern, out + err, re.M):
        yield f"{' '.join(map(str, arguments))} {environment or ''}: exit code {returned}, not '{pattern}' but: {out}{err}"


def check_file(file):
    headers = subprocess.run(["readelf", "--dynamic", "--program-headers", file], capture_output=True, text=True,
                             check=True).stdout
    for word in ("INTERP", "NEEDED"):
        if word in headers:
            yield f"it has {word}"
    if "DYN (" not in headers or re.search(r"GNU_STACK.*\n.*RWE", headers):
        yield "it has its own address, or a stack with code"
    size = file.stat().st_size
    if size > MOST_BYTES:
        yield f"it has {size} bytes, more than {MOST_BYTES}"
    licences = pathlib.Path(f"{file}.copyright").read_text()
    for package in ("libboost", "libc6-dev", "libcli11-dev", "libsimdjson-dev", "libssl-dev", "libstdc++6", "libyaml-cpp-dev",
                    "nlohmann-json3-dev"):
        if not re.search(f"^==== {re.escape(package)}.* [0-9]", licences, re.M):
            yield f"its .copyright does not name {package}"


def check_commands(root, version):
    yield from expect(root, ["--version"], f"^nccl-env {re.escape(version)}$")
    yield from expect(root, ["env"], "^nccl-env: this machine has no RDMA devices$", 3)
    policies = [f"/srv/policies/{path.name}" for path in sorted((SOURCE / "policies").glob("*.yaml"))]
    for path in policies:
        root.put(path[1:], (SOURCE / path.removeprefix("/srv/")).read_bytes())
    yield from expect(root, ["policy", "check", *policies], f"^nccl-env: policies: {len(policies)}, errors: 0")
    root.put("srv/wrong.yaml", (SOURCE / "tests/data/docs/mine.yaml").read_bytes())
    yield from expect(root, ["policy", "check", "/srv/wrong.yaml"], "do you mean gidIndex", 1)
    root.put("srv/show_gids.txt", (SOURCE / "tests/data/tables/baidu-roce-a100.show_gids.txt").read_bytes())
    code, table, _ = root.run("table", "import", "--node", "gpu-1", "--node-interface", "eth0", "/srv/show_gids.txt")
    if code:
        yield f"table import ends with {code}"
    root.put("srv/gpu-1.yaml", table)
    root.put("srv/pod.yaml", POD)
    yield from expect(root, ["explain", "--policy", "/srv/policies/baidu-roce.yaml", "--table", "/srv/gpu-1.yaml",
                             "-f", "/srv/pod.yaml"], r"NCCL_IB_HCA.*=mlx5_1,mlx5_2")
    root.put("srv/train.log", (SOURCE / "tests/data/docs/train.log").read_bytes())
    yield from expect(root, ["verify", "/srv/train.log"], "^NCCL runs over IB, and its log tells no failure")


def check_machines(root):
    """Those of tests/data/machines whose values need no address, and that get any."""
    for path in sorted((SOURCE / "tests/data/machines").glob("*.txt")):
        machine = tree.Machine(path)
        if machine.node or not machine.hcas or machine.by_plugin():
            continue
        tree.build(machine, root.path / f"srv/{machine.name}/sys")
        (root.path / "srv/pinned.yaml").write_text(
            (SOURCE / "policies/generic-rdma.yaml").read_text().replace("gidIndex: Auto ", "gidIndex: Pin "))
        _, out, err = root.run("env", "-i", "-o", "json", "--policy", "/srv/pinned.yaml", "--sysfs",
                               f"/srv/{machine.name}/sys")
        said = json.loads(out) if out else {"env": {}, "omitted": []}
        found = said["env"] | {entry["name"]: "- " + entry["reason"] for entry in said["omitted"]}
        for variable in ("NCCL_IB_HCA", "NCCL_IB_GID_INDEX"):
            wanted = machine.expected.get(variable, "")
            if found.get(variable, "").lstrip("=") != wanted.lstrip("="):
                yield f"{machine.name}: {variable} is {found.get(variable)}, expected {wanted or 'none'}; {err}"


def check_cluster(root, folder):
    # A module that fails where it is asked for: neither glibc nor OpenSSL may.
    root.put("etc/nsswitch.conf", "hosts: missing [!SUCCESS=return] files dns\n")
    root.put("srv/openssl.cnf", "openssl_conf = all\n[all]\nproviders = some\n[some]\nmissing = one\n"
                                "[one]\nmodule = /srv/missing.so\nactivate = 1\n")
    root.put("etc/hosts", "127.0.0.1 in-hosts.test\n")
    root.put("etc/resolv.conf", "nameserver 127.0.0.1\n")
    root.put("srv/ca.crt", (folder / "api.crt").read_bytes())
    root.put("srv/other.crt", (folder / "other.crt").read_bytes())

    def ask(host, authority, pattern, code=0, **environment):
        root.put("srv/kubeconfig", kubeconfig(host, authority))
        yield from expect(root, ["nodes", "--kubeconfig", "/srv/kubeconfig"], pattern, code,
                          OPENSSL_CONF="/srv/openssl.cnf", **environment)

    seen = "^ +of-the-cluster "
    for host in ("127.0.0.1", "in-hosts.test", "in-dns.test"):
        yield from ask(host, "/srv/ca.crt", seen)
    yield from ask("nowhere.test", "/srv/ca.crt", "its name has no address", 4)
    yield from ask("127.0.0.1", "/srv/other.crt", "self-signed certificate", 4)
    # Authorities of the system: none, one that a variable names, and where RHEL keeps them.
    yield from ask("in-hosts.test", None, "self-signed certificate", 4)
    yield from ask("in-hosts.test", None, seen, SSL_CERT_FILE="/srv/ca.crt")
    root.put("etc/pki/tls/certs/ca-bundle.crt", (folder / "api.crt").read_bytes())
    yield from ask("in-hosts.test", None, seen)
    yield from ask("in-hosts.test", None, "self-signed certificate", 4, SSL_CERT_FILE="/srv/other.crt")


def main():
    if "--inside" not in sys.argv:  # a network and mounts that end with this
        os.execvp("unshare", ["unshare", "--net", "--mount", sys.executable, "-B", __file__, "--inside", *sys.argv[1:]])
    arguments = [argument for argument in sys.argv[1:] if argument != "--inside"]
    given = pathlib.Path(arguments[1]) if arguments and arguments[0] == "--root" else None
    files = [pathlib.Path(argument) for argument in arguments[2 if given else 0:]]
    if not files or os.geteuid():
        sys.exit(__doc__)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
    version = subprocess.run([SOURCE / "scripts/version"], capture_output=True, text=True, check=True).stdout.strip()
    found = 0
    with tempfile.TemporaryDirectory(prefix="nccl-env-portable.") as scratch:
        scratch = pathlib.Path(scratch)
        scratch.chmod(0o755)
        certificate(scratch, "api", "IP:127.0.0.1,DNS:in-hosts.test,DNS:in-dns.test,DNS:nowhere.test")
        certificate(scratch, "other", "IP:127.0.0.1")
        serve_api(scratch)
        serve_dns()
        for number, file in enumerate(files):
            path = given or scratch / f"root{number}"
            path.mkdir(exist_ok=True)
            with Root(path, file) as root:
                problems = [*check_file(file), *check_commands(root, version), *check_machines(root),
                            *check_cluster(root, scratch)]
            for problem in problems:
                print(f"{file.name}: {problem}")
            found += len(problems)
    print(f"portable: {', '.join(file.name for file in files)}: {found} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
