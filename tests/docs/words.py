# SPDX-License-Identifier: Apache-2.0
"""Whether commands and options of our programs that a page names are there, by the programs' own --help."""
import re
import subprocess

PROGRAMS = ("nccl-env-webhook", "nccl-env-agent", "nccl-env")
CODE = re.compile(r"(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)")
# At the start of a command: not the namespace of that name, nor an object's.
CALL = re.compile(r"(?:^|[|;&(]|\bdo\b|\bxargs\b) *(?:[A-Z_]+=\S+ +)*(?:kubectl +)?(?:[\w./-]*/)?("
                  + "|".join(PROGRAMS) + r")(?![\w.:/-])((?: +[^|;&<>()#`]+)?)")
WORD, OPTION = re.compile(r"[a-z][a-z-]*"), re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def fenced(text):
    """The commands of all blocks, each with its line's number; lines that end in a backslash go on."""
    inside, begun = False, ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            inside = line.strip() in ("```sh", "```console")
        elif inside and line.endswith("\\"):
            begun += line[:-1]
        elif inside:
            yield number, begun + line
            begun = ""


def spans(text):
    """The code within sentences, which may be wrapped."""
    prose = re.sub(r"^( *```).*?^ *```", lambda block: "\n" * block[0].count("\n"), text, flags=re.M | re.S)
    for span in CODE.finditer(prose):
        yield prose.count("\n", 0, span.start()) + 1, span[1].replace("\n", " ")


class Known:
    def __init__(self, programs):
        self.programs, self.helps = programs, {}

    def help(self, *command):
        """What --help of a command says."""
        if command not in self.helps:
            told = subprocess.run([self.programs / command[0], *command[1:], "--help"], capture_output=True, text=True,
                                  timeout=120)
            if told.returncode:
                raise SystemExit(f"{' '.join(command)} --help: exit code {told.returncode}: {told.stderr.strip()}")
            self.helps[command] = told.stdout
        return self.helps[command]

    def subcommands(self, *command):
        """Those that its --help lists, under titles of their own."""
        sections = re.findall(r"^(\w[^\n:]*):\n((?:  +\S.*\n)+)", self.help(*command), re.M)
        return [name for title, listed in sections if title not in ("Options", "Positionals", "Example")
                for name in re.findall(r"^  ([a-z][a-z-]*) ", listed, re.M)]

    def problem(self, program, rest):
        """What is wrong with one call, or None."""
        command, arguments = [program], rest.split()
        while arguments and self.subcommands(*command) and WORD.fullmatch(arguments[0]):
            if arguments[0] not in self.subcommands(*command):
                return f"{' '.join(command)} has no command {arguments[0]}"
            command.append(arguments.pop(0))
        options = self.help(*command)
        for option in OPTION.findall(" ".join(arguments)):
            if not re.search(rf"(?<![\w-]){option}(?![\w-])", options):
                return f"{' '.join(command)} has no option {option}"
        return None

    def findings(self, page, text):
        for number, call in [*fenced(text), *spans(text)]:
            for program, rest in CALL.findall(call.strip().removeprefix("$ ")):
                wrong = self.problem(program, rest)
                if wrong:
                    yield f"{page}:{number}: {wrong}: {call.strip()}"
