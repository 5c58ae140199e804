# SPDX-License-Identifier: Apache-2.0
"""In the guest: an agent that publishes into a directory, and every version of what it publishes, with its time."""
import os
import pathlib
import signal
import subprocess
import threading
import time
import urllib.request

import guest as lab

STORE = pathlib.Path("/tmp/store")
FILE = STORE / "lab.yaml"
OPS = "127.0.0.1:9400"


class Published:
    def __init__(self, name, wrapper=()):
        """`name`: of the results' files."""
        self.name, self.writes, self.actions = name, [], []
        self.ended = threading.Event()
        STORE.mkdir(exist_ok=True)
        STORE.chmod(0o777)
        for file in STORE.iterdir():
            file.unlink()
        self.log = open(lab.RESULTS / f"{name}.err", "w")
        self.watcher = threading.Thread(target=self.watch)
        self.watcher.start()
        self.process = subprocess.Popen(
            [*wrapper, lab.AGENT, "run", "--node-name", "lab", "--store", f"dir:{STORE}", "--look", "1h",
             "--ops-listen", OPS],
            stdout=self.log, stderr=self.log)
        lab.wait_for(lambda: self.process.poll() is not None or self.is_agent(), pause=0.002)
        self.begin = time.monotonic()
        lab.wait_for(lambda: self.writes or self.process.poll() is not None)

    def is_agent(self):
        """No longer the wrapper."""
        return pathlib.Path(f"/proc/{self.process.pid}/comm").read_text().strip() == pathlib.Path(lab.AGENT).name

    def watch(self):
        seen = None
        while not self.ended.wait(0.01):
            try:
                status = os.stat(FILE)
            except FileNotFoundError:
                continue
            version = (status.st_ino, status.st_mtime_ns)
            if version != seen:
                seen = version
                self.writes.append({"time": time.monotonic(), "text": FILE.read_text()})

    def act(self, name, command):
        """Then waits: 3 s for a write, and for a second without one; longer where the guest is slow."""
        begin, count = time.monotonic(), len(self.writes)
        lab.sh(command)
        end, slowness = time.monotonic(), lab.slowness()
        self.actions.append({"name": name, "begin": begin, "end": end, "slowness": slowness})

        def over():
            now = time.monotonic()
            written = len(self.writes) > count and self.writes[-1]["time"] > end
            return now > (self.writes[-1]["time"] + slowness if written else end + 3 * slowness)
        lab.wait_for(over, limit=60 * slowness)

    def metrics(self):
        with urllib.request.urlopen(f"http://{OPS}/metrics", timeout=10) as reply:
            return reply.read().decode()

    def stop(self):
        metrics = self.metrics()
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "killed"
        self.ended.set()
        self.watcher.join()
        lab.save(f"{self.name}.json", {"begin": self.begin, "actions": self.actions, "writes": self.writes, "code": code,
                                       "metrics": metrics})
