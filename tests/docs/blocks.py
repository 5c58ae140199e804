# SPDX-License-Identifier: Apache-2.0
"""The fenced blocks of a Markdown page, and the marks before them.

    <!-- test: machine -->          the sh block that follows is run on this machine
    <!-- test: machine, exit 1 -->  the same, where that is what it has to end with
    <!-- test: cluster: NAME -->    it is run on a control plane, by tests/e2e/scenarios/NAME.py
    <!-- test: none: REASON -->     nothing runs it, because of this
    <!-- tests: none: REASON -->    the same, of all blocks of the page that follow without a mark
    <!-- output -->                 the text block that follows is what the sh block before it prints
    <!-- file: NAME -->             the block that follows is that file for the sh blocks after it
"""
import dataclasses
import pathlib
import re

FENCE = re.compile(r"^( *)(`{3,})(.*)$")
MARK = re.compile(r"^<!-- (tests?|output|file)(?:: (.*))? -->$")
TEST = re.compile(r"machine(?:, exit (?P<exit>\d+))?|cluster: (?P<scenario>[a-z_]+)|none: (?P<reason>.+)")
SOURCE = pathlib.Path(__file__).resolve().parents[2]
OTHER = ("console", "yaml", "json", "mermaid", "text", "dockerfile")  # nothing that a reader would type


@dataclasses.dataclass
class Block:
    page: str
    line: int  # of its fence
    language: str
    text: str
    mark: str = ""   # test, output, file, or none
    value: str = ""  # what the mark says

    @property
    def place(self):
        return f"{self.page}:{self.line}"

    @property
    def level(self):
        """machine, cluster or none."""
        return self.value.split(",")[0].split(":")[0] if self.mark == "test" else ""

    @property
    def scenario(self):
        return TEST.fullmatch(self.value)["scenario"]

    @property
    def exit_code(self):
        return int(TEST.fullmatch(self.value)["exit"] or 0)


def blocks(page, text):
    found, mark, inside, all_of_page = [], None, None, ""
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if inside:
            if fence and fence[2] == inside[1] and not fence[3]:
                found.append(inside[0])
                inside = None
            else:
                inside[0].text += line.removeprefix(inside[2]) + "\n"
        elif fence:
            named = MARK.match(mark or "")
            kind, value = (named[1], named[2] or "") if named else ("", "")
            if kind == "tests":
                all_of_page = value
            if kind == "tests" or (all_of_page and not kind and fence[3].strip() == "sh"):
                kind, value = "test", all_of_page
            inside = (Block(page, number, fence[3].strip(), "", kind, value), fence[2], fence[1])
        if line.strip():
            mark = line.strip()
    if inside:
        found.append(inside[0])
    return found


def is_of_scenario(block):
    scenario = SOURCE / f"tests/e2e/scenarios/{block.scenario}.py"
    return scenario.exists() and block.page in scenario.read_text()


def problems(found):
    """What is wrong with the marks of a page's blocks, as sentences."""
    before = None
    for block in found:
        if block.language == "sh":
            if block.mark != "test":
                yield f"{block.place}: a block of commands without <!-- test: … --> before it"
            elif not TEST.fullmatch(block.value):
                yield f"{block.place}: no such mark: test: {block.value}"
            elif block.level == "cluster" and not is_of_scenario(block):
                yield f"{block.place}: tests/e2e/scenarios has no {block.scenario} that names this page"
        elif block.language not in OTHER:
            yield f"{block.place}: a block has to be sh or one of {', '.join(OTHER)}, not {block.language or 'nothing'}"
        elif block.language == "console" and block.page != "docs/reference/cli.md":
            yield (f"{block.place}: console blocks are run in docs/reference/cli.md alone: use sh, "
                   "and text with <!-- output -->")
        elif block.mark == "test":
            yield f"{block.place}: test: marks sh blocks only"
        elif block.mark == "output" and (before is None or before.level != "machine"):
            yield f"{block.place}: output of a block that is not run on this machine"
        elif block.mark == "file" and not re.fullmatch(r"([a-z0-9_-]+[./])*[a-z0-9_-]+", block.value):
            yield f"{block.place}: no name of a file: {block.value}"
        if block.language == "sh":
            before = block


def fits(printed, wanted):
    """Whether the output is as the page says; a line … stands for any lines, … in a line for any text."""
    pattern = ""
    for line in wanted.splitlines():
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part.rstrip() if last else part) for last, part in parts(line)) + r"[ ]*\n"
    return re.fullmatch(pattern, printed if printed.endswith("\n") or not printed else printed + "\n")


def parts(line):
    pieces = line.split("…")
    return [(number == len(pieces) - 1, piece) for number, piece in enumerate(pieces)]
