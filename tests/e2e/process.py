# SPDX-License-Identifier: Apache-2.0
"""Programs that run for the length of a test, each with its output in a file, and ended with it."""
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from ports import free_port  # noqa: E402


# Nothing that works takes so many seconds, even on a slow machine: the tests wait for events, and this limit only ends
# a hang. An API server starts within ten, for instance.
PATIENCE = 240


class Failed(Exception):
    """A scenario found something wrong; the text is a sentence."""


def eventually(what, check, limit=PATIENCE, pause=0.05):
    """The first true answer of `check`; after `limit` seconds, Failed with `what` and the last answer."""
    end = time.monotonic() + limit
    while True:
        answer = check()
        if answer:
            return answer
        if time.monotonic() > end:
            raise Failed(f"not within {limit} s: {what} (last: {answer!r})")
        time.sleep(pause)


class Process:
    def __init__(self, name, command, log, **keywords):
        self.name, self.command, self.log = name, [str(part) for part in command], pathlib.Path(log)
        self.keywords = keywords
        self.start()

    def start(self):
        with self.log.open("ab") as output:
            self.offset = output.tell()
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                            **self.keywords)

    @property
    def pid(self):
        return self.process.pid

    def said(self):
        """The output since the last start."""
        with self.log.open("rb") as log:
            log.seek(self.offset)
            return log.read().decode(errors="replace")

    def alive(self):
        return self.process.poll() is None

    def expect_alive(self):
        if not self.alive():
            tail = "\n  ".join(self.said().splitlines()[-15:])
            raise Failed(f"{self.name} ended with {self.process.returncode}:\n  {tail}")

    def end(self, number=signal.SIGTERM, limit=PATIENCE):
        """Returns the exit code; kills the process if it does not end."""
        if self.alive():
            self.process.send_signal(number)
        try:
            return self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def resident_mib(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024
