# SPDX-License-Identifier: Apache-2.0
"""In the guest: an agent that publishes into a directory, and every version of what it publishes, with its time."""
import os
import pathlib
import re
import signal
import subprocess
import threading
import time
import urllib.request

import compare
import guest as lab

STORE = pathlib.Path("/tmp/store")
FILE = STORE / "lab.yaml"
OPS = "127.0.0.1:9400"


class Published:
    def __init__(self, name, wrapper=(), wait=lab.wait_for):
        """`name`: of the results' files. `wait` waits for the first table; `waited` is what it returned, and `cpu` the
        CPU seconds of the agent meanwhile."""
        self.name, self.writes, self.actions = name, [], []
        self.ended = threading.Event()
        STORE.mkdir(exist_ok=True)
        STORE.chmod(0o777)
        for file in STORE.iterdir():
            file.unlink()
        self.log = open(lab.RESULTS / f"{name}.err", "w")
        self.watcher = threading.Thread(target=self.watch, daemon=True)  # a failure must not wait for it
        self.watcher.start()
        self.process = subprocess.Popen(
            [*wrapper, lab.AGENT, "run", "--node-name", "lab", "--store", f"dir:{STORE}", "--look", "1h",
             "--ops-listen", OPS],
            stdout=self.log, stderr=self.log)
        lab.wait_for(lambda: self.process.poll() is not None or self.is_agent(), pause=0.002)
        self.begin, before = time.monotonic(), lab.cpu_seconds(self.process.pid)
        self.waited = wait(lambda: self.writes or self.process.poll() is not None)
        self.cpu = lab.cpu_seconds(self.process.pid) - before

    def is_agent(self):
        """No longer the wrapper."""
        return pathlib.Path(f"/proc/{self.process.pid}/comm").read_text().strip() == pathlib.Path(lab.AGENT).name

    def watch(self):
        seen = None
        while not self.ended.wait(0.05):  # a tenth of the shortest time between two looks
            try:
                file = open(FILE)
            except FileNotFoundError:
                continue
            with file:  # a newer file may replace it, so status and text are read from the open one
                status = os.fstat(file.fileno())
                version = (status.st_ino, status.st_mtime_ns)
                if version != seen:
                    seen = version
                    self.writes.append({"time": time.monotonic(), "text": file.read()})

    def act(self, name, command, right=None):
        """Runs `command`, a shell's or a function. Waits until a table written since is `right`; where that is not
        asked, until the agent has looked again."""
        begin, count = time.monotonic(), len(self.writes)
        if callable(command):
            command()
        else:
            lab.sh(command)
        end, looks = time.monotonic(), self.looks()
        self.actions.append({"name": name, "begin": begin, "end": end, "slowness": lab.slowness()})
        if right:
            self.wait_for_table(name, right, count)
            self.actions[-1]["looks"] = self.looks() - looks
        else:
            self.make_look()

    def make_look(self):
        """Until a look has ended that began after this did."""
        looks = self.looks()
        for count in (looks + 1, looks + 2):  # the first may have begun before
            lab.sh(f"ip link set lo alias {count}")  # an event without a change of the table
            lab.wait_for(lambda wanted=count: self.looks() >= wanted, pause=0.2,
                         otherwise=lambda: f"{self.name}: no look for an event")

    def wait_for_table(self, name, right, seen):
        """Until one of the writes from number `seen` on is right; each is parsed once."""
        def found():
            nonlocal seen
            while seen < len(self.writes):
                seen += 1
                if right(compare.parsed(self.writes[seen - 1]["text"])):
                    return True
            return False
        lab.wait_for(found, otherwise=lambda: f"{self.name}: {name}: the table was never right, in {len(self.writes)} "
                     f"writes and {self.looks()} looks")

    def open_devices(self):
        """The device files that the agent has open."""
        return re.findall(r"/dev/infiniband/\S+", lab.sh(f"cd /proc/{self.process.pid}/fd && {{ ls -l 2>/dev/null || true; }}"))

    def metrics(self):
        with urllib.request.urlopen(f"http://{OPS}/metrics", timeout=lab.HANG_SECONDS) as reply:
            return reply.read().decode()

    def looks(self):
        """How often it has looked."""
        return int(re.search(r"nccl_env_agent_look_duration_seconds_count (\d+)", self.metrics())[1])

    def stop(self):
        metrics = self.metrics()
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(lab.HANG_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "killed"
        self.ended.set()
        self.watcher.join()
        lab.save(f"{self.name}.json", {"begin": self.begin, "actions": self.actions, "writes": self.writes, "code": code,
                                       "metrics": metrics})
