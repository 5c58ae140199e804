# SPDX-License-Identifier: Apache-2.0
"""Pods that are asked for all the time, by dry run, while something happens to our programs."""
import threading
import time

from api import Refused
from process import Failed
from session import pod


class Load:
    """Each client notes when it asked, how long the answer took, and whether the pod has values: None where it was refused."""

    def __init__(self, session, namespace, clients=2):
        self.session, self.manifest = session, pod(namespace, "asked")
        self.ending, self.answers, self.problem = threading.Event(), [], None
        self.threads = [threading.Thread(target=self.ask, daemon=True) for _ in range(clients)]

    def ask(self):
        try:
            while not self.ending.is_set():
                begin = time.monotonic()
                try:
                    given = self.session.is_injected(self.manifest)
                except Refused:
                    given = None
                self.answers.append((begin, time.monotonic(), given))
                time.sleep(0.005)
        except Exception as problem:  # for the thread that waits
            self.problem = problem

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, kind, *_):
        self.ending.set()
        for thread in self.threads:
            thread.join()
        if self.problem and not kind:
            raise Failed(f"a create failed: {self.problem}")

    @property
    def missed(self):
        """Begin and end of each create without values."""
        return [(begin, end) for begin, end, given in self.answers if given is False]

    @property
    def refused(self):
        return [(begin, end) for begin, end, given in self.answers if given is None]

    def expect_none_missed(self, what, since=0.0):
        late = [begin for begin, _ in self.missed + self.refused if begin > since]
        if late:
            raise Failed(f"{what}: {len(late)} of {len(self.answers)} pods have no values, {late[0] - since:.1f} to "
                         f"{late[-1] - since:.1f} s after it should be over")

    def figures(self):
        slowest = max(end - begin for begin, end, _ in self.answers)
        given = len(self.answers) - len(self.missed) - len(self.refused)
        return f"{given} of {len(self.answers)} (longest {slowest * 1000:.0f} ms)"
