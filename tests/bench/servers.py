# SPDX-License-Identifier: Apache-2.0
"""The servers that are compared, each started on a port of its own, pinned to one CPU, and ended with the run."""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from ports import free_port  # noqa: E402

SERVER_CPU, CLIENT_CPU = 0, 1


def pin(cpu):
    """For preexec_fn: the child, and all threads it will have, on this CPU where there is more than one."""
    return lambda: os.sched_setaffinity(0, {cpu} & os.sched_getaffinity(0) or os.sched_getaffinity(0))


class Server:
    def __init__(self, name, command, port, start_limit=120, cpu=SERVER_CPU, log=subprocess.DEVNULL):
        """`cpu` None: on all of them."""
        self.name, self.port = name, port
        begin = time.monotonic()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log,
                                        preexec_fn=None if cpu is None else pin(cpu))
        while not self.accepts():
            if self.process.poll() is not None or time.monotonic() - begin > start_limit:
                raise SystemExit(f"{name} did not start: {' '.join(map(str, command))}")
            time.sleep(0.001)
        self.start_seconds = time.monotonic() - begin

    def accepts(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    @property
    def pid(self):
        return self.process.pid

    def resident_mib(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def stop(self):
        self.process.kill()
        self.process.wait()


def start_webhook(program, store, pki, log_level="info"):
    """One thread, as nginx has one worker."""
    port = free_port()
    return Server(f"webhook ({log_level})",
                  [program, "--store", f"dir:{store}", "--listen", f"127.0.0.1:{port}", "--ops-listen",
                   f"127.0.0.1:{free_port()}", "--self-signed", pki, "--threads", "1", "--log-level", log_level],
                  port)


NGINX = """
daemon off; master_process off; worker_processes 1;
pid {directory}/nginx.pid; error_log /dev/null emerg;
events {{ worker_connections 512; }}
http {{
  access_log off; default_type application/json;
  keepalive_requests 1000000000; keepalive_timeout 1h;
  client_body_temp_path {directory}/1; proxy_temp_path {directory}/2; fastcgi_temp_path {directory}/3;
  uwsgi_temp_path {directory}/4; scgi_temp_path {directory}/5;
  ssl_protocols TLSv1.3; ssl_certificate {pki}/tls.crt; ssl_certificate_key {pki}/tls.key;
  server {{
    listen 127.0.0.1:{port} ssl;
    {locations}
  }}
}}
"""


def start_nginx(directory, pki, replies):
    """`replies`: path -> text. `return` is the cheapest reply that nginx has (no file, no second module), and
    for a POST it reads and drops the body, as keep-alive demands."""
    def quoted(text):
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def reply(number, text):
        assert "$" not in text, "nginx expands variables"
        parts = [text[at:at + 3500] for at in range(0, len(text), 3500)]  # it takes 4 KB in one word
        names = [f"$part_{number}_{i}" for i in range(len(parts))]
        settings = "".join(f"set {name} {quoted(part)}; " for name, part in zip(names, parts))
        return f"{settings}return 200 \"{''.join(names)}\";"

    program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if not program:
        raise SystemExit("nginx is missing: apt-get install nginx-light")
    directory.mkdir()
    port = free_port()
    locations = "\n    ".join(f"location = {path} {{ {reply(number, text)} }}"
                              for number, (path, text) in enumerate(replies.items()))
    config = directory / "nginx.conf"
    config.write_text(NGINX.format(directory=directory, pki=pki, port=port, locations=locations))
    return Server("nginx", [program, "-p", directory, "-c", config, "-e", "/dev/null"], port)


def build_go(directory):
    """The program of peers/go; None where Go, or the modules that it needs, are not at hand."""
    go = shutil.which("go", path=os.environ["PATH"] + ":/usr/local/go/bin")
    program = directory / "go_peer"
    if not go or subprocess.run([go, "build", "-o", program, "."], cwd=pathlib.Path(__file__).parent / "peers/go",
                                check=False).returncode != 0:
        return None
    return program


def start_go(program, pki, *more, cpu=SERVER_CPU):
    port = free_port()
    return Server("Go", [program, "-listen", f"127.0.0.1:{port}", "-cert", pki / "tls.crt", "-key",
                         pki / "tls.key", *more], port, cpu=cpu)
