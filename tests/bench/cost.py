#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what an answer costs beside cost.tsv: cost.py --allocations PROGRAM DIRECTORY counts operator new, cost.py
PROGRAM DIRECTORY instructions, too, in callgrind. PROGRAM is answer_cost; DIRECTORY takes its inputs. Both numbers are
the same on every machine with Debian 12's compiler and libraries. An answer that became cheaper fails as one that became
dearer: its row is written anew (COST_WRITE=1), so that the next step begins there."""
import os
import pathlib
import re
import subprocess
import sys

TABLE = pathlib.Path(__file__).with_name("cost.tsv")
ANSWERS = {  # row of the table: review and engines
    "pod": ("pod.json", "nccl"), "pod, all engines": ("pod.json", "all"),
    "Binding": ("binding.json", "nccl"), "Binding, all engines": ("binding.json", "all")}
# Instructions of a loop's 100 and 300 answers: what a start costs falls out. Callgrind counts `rep` by the byte.
FEW, MANY = 100, 300
TOLERANCE = 0.02
ENVIRONMENT = dict(os.environ, GLIBC_TUNABLES="glibc.cpu.x86_rep_movsb_threshold=1000000:"
                   "glibc.cpu.x86_rep_stosb_threshold=1000000")


def rows_of(text):
    lines = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    return {name: (int(allocations), int(instructions)) for name, allocations, instructions in lines}


def allocations_of(program, inputs, answer):
    made = subprocess.run([program, inputs, *ANSWERS[answer], "10"], stdout=subprocess.PIPE, check=True)
    return int(made.stdout)


def instructions_of(program, inputs, answer):
    def total(answers):
        run = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, inputs,
                              *ANSWERS[answer], str(answers)], capture_output=True, text=True, check=True, env=ENVIRONMENT)
        return int(re.search(r"Collected : (\d+)", run.stderr).group(1))
    return (total(MANY) - total(FEW)) // (MANY - FEW)


def problems(wanted, counted):
    """A sentence for each number that is not what the table says; None of a counted one: it was not asked for."""
    for answer, (allocations, instructions) in counted.items():
        of_table = wanted.get(answer, (0, 0))
        if allocations != of_table[0]:
            yield f"{answer}: {allocations} allocations, cost.tsv says {of_table[0]}"
        if instructions is not None and abs(instructions - of_table[1]) > TOLERANCE * of_table[1]:
            yield f"{answer}: {instructions} instructions, cost.tsv says {of_table[1]} (within 2 %)"


def main():
    words = sys.argv[1:]
    allocations_alone = words[:1] == ["--allocations"]
    program, directory = words[allocations_alone:]
    inputs = str(pathlib.Path(directory, "cost_inputs"))
    subprocess.run([sys.executable, "-B", str(TABLE.with_name("inputs.py")), inputs], check=True)
    counted = {answer: (allocations_of(program, inputs, answer),
                        None if allocations_alone else instructions_of(program, inputs, answer)) for answer in ANSWERS}
    for answer, numbers in counted.items():
        print(answer, *(number for number in numbers if number is not None), sep="\t")
    if os.environ.get("COST_WRITE") and not allocations_alone:
        head = "".join(line for line in TABLE.read_text().splitlines(True) if line.startswith("#"))
        TABLE.write_text(head + "".join(f"{answer}\t{a}\t{i}\n" for answer, (a, i) in counted.items()))
        return 0
    found = list(problems(rows_of(TABLE.read_text()), counted))
    for problem in found:
        print(f"cost: {problem}; lower the table with `make cost COST_WRITE=1`, or find what made it dearer")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
