# SPDX-License-Identifier: Apache-2.0
"""What the checks of the documentation find: checks_test.py PROGRAMS."""
import pathlib
import sys
import unittest

import run
import words
from blocks import blocks, fits, problems

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import figures  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()


def page(*lines, name="docs/page.md"):
    return blocks(name, "\n".join(lines))


def findings(*lines, name="docs/page.md"):
    return [*problems(page(*lines, name=name))]


class Marks(unittest.TestCase):
    def test_a_block_of_commands_needs_a_mark(self):
        self.assertEqual(len(findings("Text", "```sh", "true", "```")), 1)
        self.assertEqual(findings("<!-- test: machine -->", "```sh", "true", "```"), [])

    def test_a_mark_stands_right_before_its_block(self):
        self.assertEqual(len(findings("<!-- test: machine -->", "Text", "```sh", "true", "```")), 1)

    def test_no_reason_is_no_mark(self):
        self.assertEqual(len(findings("<!-- test: none -->", "```sh", "true", "```")), 1)
        self.assertEqual(findings("<!-- test: none: needs a GPU -->", "```sh", "true", "```"), [])

    def test_one_mark_for_all_blocks_of_a_page_that_follow(self):
        two = ("```sh", "true", "```", "", "```sh", "false", "```")
        self.assertEqual(findings("<!-- tests: none: needs a GPU -->", *two), [])
        self.assertEqual(len(findings("<!-- test: none: needs a GPU -->", *two)), 1)
        self.assertEqual(len(findings(*two, "<!-- tests: none: needs a GPU -->", "```sh", "true", "```")), 2)

    def test_a_scenario_has_to_name_the_page(self):
        self.assertEqual(findings("<!-- test: cluster: quickstart -->", "```sh", "true", "```",
                                  name="docs/start/quickstart.md"), [])
        self.assertEqual(len(findings("<!-- test: cluster: quickstart -->", "```sh", "true", "```")), 1)
        self.assertEqual(len(findings("<!-- test: cluster: no_such -->", "```sh", "true", "```")), 1)

    def test_a_block_without_a_language_could_hide_commands(self):
        self.assertEqual(len(findings("```", "kubectl delete nodes --all", "```")), 1)

    def test_console_belongs_to_the_page_whose_test_reads_it(self):
        self.assertEqual(len(findings("```console", "$ true", "```")), 1)
        self.assertEqual(findings("```console", "$ true", "```", name="docs/reference/cli.md"), [])

    def test_output_needs_a_block_that_is_run(self):
        self.assertEqual(len(findings("<!-- output -->", "```text", "x", "```")), 1)
        self.assertEqual(len(findings("<!-- test: none: no -->", "```sh", "true", "```",
                                      "<!-- output -->", "```text", "x", "```")), 1)

    def test_a_file_stays_in_the_pages_directory(self):
        for name, wrong in (("a_b/c.yaml", 0), ("../c.yaml", 1), ("/etc/c.yaml", 1), ("a/../../c", 1)):
            self.assertEqual(len(findings(f"<!-- file: {name} -->", "```yaml", "a: 1", "```")), wrong, name)


class Output(unittest.TestCase):
    def test_dots_stand_for_lines_and_for_parts_of_one(self):
        self.assertTrue(fits("a\nb\nc\n", "a\n…\nc\n"))
        self.assertTrue(fits("a\nb\nc\n", "a\n…\n"))
        self.assertTrue(fits("took 12 ms\n", "took … ms\n"))
        self.assertFalse(fits("a\nb\nc\n", "a\nc\n"))
        self.assertFalse(fits("a\nb\n", "a\nb\nc\n"))


class Runs(unittest.TestCase):
    def found(self, *lines):
        wrong, _ = run.run_page(page(*lines), PROGRAMS)
        return wrong

    def test_a_command_that_fails_in_the_middle(self):
        self.assertEqual(len(self.found("<!-- test: machine -->", "```sh", "false", "true", "```")), 1)
        self.assertEqual(len(self.found("<!-- test: machine -->", "```sh", "false | true", "```")), 1)

    def test_an_exit_code_that_is_expected(self):
        self.assertEqual(self.found("<!-- test: machine, exit 3 -->", "```sh", "exit 3", "```"), [])
        self.assertEqual(len(self.found("<!-- test: machine, exit 3 -->", "```sh", "true", "```")), 1)

    def test_another_output(self):
        block = ["<!-- test: machine -->", "```sh", "nccl-env --version", "```", "<!-- output -->", "```text"]
        self.assertEqual(self.found(*block, "nccl-env …", "```"), [])
        self.assertEqual(len(self.found(*block, "something else", "```")), 1)

    def test_blocks_share_a_directory_and_files_of_the_page(self):
        self.assertEqual(self.found("<!-- file: sub/a.yaml -->", "```yaml", "a: 1", "```",
                                    "<!-- test: machine -->", "```sh", "cp sub/a.yaml b", "```",
                                    "<!-- test: machine -->", "```sh", "cat b", "```",
                                    "<!-- output -->", "```text", "a: 1", "```"), [])

    def test_what_runs_in_the_background_ends_with_the_page(self):
        self.assertEqual(self.found("<!-- test: machine -->", "```sh", "sleep 600 &", "```"), [])


class Names(unittest.TestCase):
    def found(self, text):
        return [*words.Known(PROGRAMS).findings("docs/page.md", text)]

    def test_commands_and_options_that_are_not_there(self):
        self.assertEqual(len(self.found("Run `nccl-env tabel import`.")), 1)
        self.assertEqual(len(self.found("Run `nccl-env table export`.")), 1)
        self.assertEqual(len(self.found("Run `nccl-env doctor --no-such-option`.")), 1)
        self.assertEqual(len(self.found("```sh\nkubectl get pods | nccl-env explain \\\n  --nod x\n```")), 1)
        self.assertEqual(len(self.found("Text `a` and `nccl-env\nexplain --no-such` and `b`.")), 1)
        self.assertEqual(self.found("Run `kubectl nccl-env doctor --policy FILE`."), [])

    def test_a_namespace_of_that_name_is_no_call(self):
        self.assertEqual(self.found("`kubectl -n nccl-env get pods`, `helm upgrade nccl-env charts/nccl-env --set`"), [])


class Figures(unittest.TestCase):
    ROW = dict(zip(figures.COLUMNS, ("pod_us", "25", "24–26", "compare", "0123abcd", "2026-11-30", "AMD EPYC, 2 CPUs")))

    def found(self, text, name="docs/operate/operations.md"):
        return [*figures.problems(name, text, figures.texts_of({"pod_us": self.ROW}))]

    def test_a_page_says_what_the_file_has(self):
        for mark, text in (("pod_us", "25"), ("pod_us.spread", "24–26"), ("pod_us.commit", "0123abcd"),
                           ("pod_us.origin", "AMD EPYC, 2 CPUs, 30 November 2026, 0123abcd")):
            self.assertEqual(self.found(f"A pod: <!--={mark}-->{text}<!--/--> µs"), [])
            self.assertEqual(len(self.found(f"A pod: <!--={mark}-->{text}1<!--/--> µs")), 1, mark)
            self.assertIn(f"-->{text}<!--/-->", figures.filled(f"<!--={mark}-->?<!--/-->", figures.texts_of({"pod_us": self.ROW})))
        self.assertEqual(len(self.found("A pod: <!--=no_such-->25<!--/--> µs")), 1)

    def test_a_figure_by_hand(self):
        for wrong in ("A pod: 25 µs", "It takes 14.5 MiB", "0.06 % of a CPU", "1.3 times", "147 833 instructions"):
            self.assertEqual(len(self.found(wrong, "docs/use/policy.md")), 1, wrong)
        for bound in ("at most 8 MiB", "within 300 ms", "`--drain 2.5 s`", "```text\n2.5 ms\n```", "since 2.30.4"):
            self.assertEqual(self.found(bound, "docs/use/policy.md"), [], bound)
        self.assertEqual(len(self.found("at most 8 MiB")), 1)
        self.assertEqual(self.found("it lasts 95 s at most"), [])
        self.assertEqual(len(self.found("95 s at most, 3 s as a rule")), 1)

    def test_lines_of_a_source(self):
        for values, line in (([2.0], "a: 2"), ([3, 1, 2.256], "a: 2.26 (1–3)"), ([1234.5, 999.6], "a: 1117 (1000–1234)")):
            self.assertEqual(figures.figure("a", values), line)
        self.assertEqual(figures.LINE.findall("a: 2.26 (1–3)\nb: 4\ntext: of 3 words\n"), [("a", "2.26", "1–3"), ("b", "4", "")])


if __name__ == "__main__":
    unittest.main()
