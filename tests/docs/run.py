#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of docs/ and README.md that need no more than this machine, and checks what they print.

  run.py PROGRAMS [PAGE…]     PROGRAMS holds ours; a PAGE is a path such as docs/start/quickstart.md
  run.py --list               every block of commands, with what is done about it

blocks.py has the marks. The blocks of one page run in their order in one directory, each in a shell of its own
(bash -eu -o pipefail), with PROGRAMS in PATH and the checkout's folders beside them; what they start in the
background lives to the end of the page. The ports 8443, 8080 and 8081 are replaced by free ones. Of the blocks
that do not run here, and of commands within a sentence, the names and options of our programs are checked."""
import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import words
from blocks import blocks, fits, problems

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from ports import free_ports  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LINKED = ("policies", "manifests", "charts", "certs", "tests", "scripts", "docs")
SECONDS = 120  # after which a block hangs


def pages():
    return [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md"))]


class Page:
    """One page's directory, and what its blocks leave running."""

    def __init__(self, programs, directory):
        self.directory, self.sessions = directory, []
        self.ports = dict(zip(("8443", "8080", "8081"), map(str, free_ports(3))))
        for name in LINKED:
            (directory / name).symlink_to(SOURCE / name)
        self.env = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(directory), "LANG": "C.UTF-8",
                    "TMPDIR": str(directory)}

    def here(self, text):
        return re.sub(r"(?<=[:=])(8443|8080|8081)\b", lambda match: self.ports[match[1]], text)

    def run(self, block):
        """Its exit code, what it printed, and what it said on its standard error."""
        out, err = self.directory / ".out", self.directory / ".err"
        with out.open("wb") as stdout, err.open("wb") as stderr:  # files: a program in the background keeps a pipe open
            shell = subprocess.Popen(["bash", "-eu", "-o", "pipefail", "-c", self.here(block.text)], cwd=self.directory,
                                     env=self.env, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                                     start_new_session=True)
            self.sessions.append(shell.pid)
            try:
                code = shell.wait(SECONDS)
            except subprocess.TimeoutExpired:
                code = f"nothing within {SECONDS} s"
        back = {port: name for name, port in self.ports.items()}
        said = [re.sub("|".join(back), lambda match: back[match[0]], path.read_text(errors="replace"))
                for path in (out, err)]
        return code, *said

    def end(self):
        for session in self.sessions:
            try:
                os.killpg(session, signal.SIGKILL)
            except ProcessLookupError:
                pass  # nothing is left of it


def indented(text):
    return "".join(f"    {line}\n" for line in text.splitlines()) or "    nothing\n"


def run_page(found, programs):
    """Findings, as sentences, and how many blocks were run."""
    findings, count, printed = [], 0, None
    with tempfile.TemporaryDirectory(prefix="nccl-env-docs-") as directory:
        page = Page(programs, pathlib.Path(directory))
        try:
            for block in found:
                if block.mark == "file":
                    path = page.directory / block.value
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(page.here(block.text))
                elif block.level == "machine":
                    code, printed, said = page.run(block)
                    count += 1
                    if code != block.exit_code:
                        findings.append(f"{block.place}: exit code {code} instead of {block.exit_code}\n"
                                        + indented(printed + said))
                elif block.level:
                    printed = None
                elif block.mark == "output" and printed is not None and not fits(printed, block.text):
                    findings.append(f"{block.place}: the page has\n{indented(block.text)}  and printed is\n"
                                    + indented(printed))
        finally:
            page.end()
    return findings, count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path, nargs="?")
    parser.add_argument("page", nargs="*")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if not options.list and not (options.programs and shutil.which("nccl-env", path=options.programs)):
        parser.error("PROGRAMS has no nccl-env; `make build` makes it")
    chosen = [page for page in pages() if not options.page or str(page.relative_to(SOURCE)) in options.page]
    if len(chosen) < len(options.page):
        parser.error(f"no page {' '.join(options.page)}")
    known = None if options.list else words.Known(options.programs.resolve())
    findings, count, others = [], 0, 0
    for path in chosen:
        name = str(path.relative_to(SOURCE))
        found = blocks(name, path.read_text())
        wrong = [*problems(found)]
        findings += wrong
        commands = [block for block in found if block.language == "sh"]
        if options.list:
            for block in commands:
                print(f"{block.place}: {block.value or 'NO MARK'}")
            continue
        findings += known.findings(name, path.read_text())
        others += sum(block.level != "machine" for block in commands)
        if not wrong and any(block.level == "machine" for block in commands):
            wrong, run = run_page(found, options.programs.resolve())
            findings, count = findings + wrong, count + run
    for finding in findings:
        print(finding, file=sys.stderr)
    if not options.list:
        print(f"{count} blocks of commands were run, {others} only read; {len(findings)} findings")
        if not options.page and not count:
            return 1
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
