# SPDX-License-Identifier: Apache-2.0
"""Answers of readers that were run once: recorded.json. They stand in for a wheel that cannot be had, or is too large to
fetch, and a reader that does run has to give the same.

READERS_RECORD=1 writes them anew, from all wheels."""
import json
import os
import pathlib

FILE = pathlib.Path(__file__).resolve().parent / "recorded.json"
RECORDS = bool(os.environ.get("READERS_RECORD"))


class Answer:
    """As of a reader; without a code where nothing is known."""

    def __init__(self, code, rows):
        self.code = code
        self.rows = rows


class Vectors:
    def __init__(self):
        self.known = json.loads(FILE.read_text())
        self.asked, self.live = {}, set()
        self.missing = []

    def of(self, name, live):
        """A reader that answers from the vectors, and from `live` where that is not None."""
        self.live.update([name] if live else [])
        return Recorded(self, name, live)

    def write(self):
        kept = {key: value for key, value in self.known.items() if not any(key.startswith(name) for name in self.live)}
        lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted((kept | self.asked).items())]
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


class Recorded:
    def __init__(self, vectors, name, live):
        self.vectors = vectors
        self.name = name
        self.live = live

    def ask(self, env, node):
        key = " ".join([self.name, node, *(f"{name}={value}" for name, value in sorted(env.items()))])
        answer = self.live.ask(env) if self.live else None
        kept = self.vectors.known.get(key)
        if answer and answer.code is None:
            raise SystemExit(f"readers: {key}: no answer\n{answer.log}")
        if answer:
            self.vectors.asked[key] = [answer.code, answer.rows]
        if answer and kept and not RECORDS and kept != self.vectors.asked[key]:
            raise SystemExit(f"readers: {key}: {self.vectors.asked[key]}, recorded was {kept}\n{answer.log}")
        if not answer and not kept:
            self.vectors.missing.append(f"{key}: not recorded; READERS_RECORD=1 does it")
            return Answer(None, {})
        return answer or Answer(*kept)
