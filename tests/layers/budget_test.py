#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proof that budget.py finds what it is there for: a small tree within its budgets, and each way of leaving them."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import budget  # noqa: E402

ROWS = """# a comment
result\tinjector\tcode\t2\t-
core/pod\tinjector\tcode\t3\t-
program\thalf\tcode\t4\t-
cli\ttool\tcode\t100\t-
injector\tinjector\tsum\t7\t-
tool\ttool\tsum\t102\t-
tables\t-\tlines\t0\tsrc/core/**/*.txt
words\t-\twords\t3\tREADME.md docs/**/*.md
pages\t-\tfiles\t1\tdocs/**/*.md
"""
TREE = {
    "include/nccl_env/result.h": "// SPDX\n\nint a;\nint b;  // with a comment\n",
    "include/nccl_env/core/pod/pod.h": "int a;\n",
    "src/core/pod/pod.cc": "int a;\n  // a comment\nint b;\n",
    "src/program/usage.cc": "int a;\nint b;\nint c;\nint d;\n",
    "src/cli/cli.cc": "int a;\n" * 100,
    "docs/use/page.md": "two words\n",
    "README.md": "one\n",
    "tests/README.md": "not counted at all\n",
}


class Budget(unittest.TestCase):
    def found(self, **changes):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in (TREE | changes).items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            rows = budget.rows_of(ROWS)
            weights, homeless = budget.weigh(root, rows, budget.files_of(root))
            return list(budget.violations(rows, weights, homeless)), weights

    def test_a_tree_at_its_budgets_passes(self):
        found, weights = self.found()
        self.assertEqual(found, [])
        self.assertEqual({name: weights[name] for name in ("result", "core/pod", "injector", "tool", "words", "pages")},
                         {"result": 2, "core/pod": 3, "injector": 7, "tool": 102, "words": 3, "pages": 1})

    def test_a_room_has_a_slack_of_60_lines_and_no_more(self):
        self.assertEqual(len(self.found(**{"src/core/pod/new.cc": "int a;\n" * 60})[0]), 1)  # the sum
        self.assertEqual([line.split(":")[0] for line in self.found(**{"src/core/pod/new.cc": "int a;\n" * 61})[0]],
                         ["core/pod", "injector"])

    def test_comments_and_blank_lines_cost_nothing(self):
        self.assertEqual(self.found(**{"src/core/pod/new.cc": "// a\n\n   // b\n" * 500})[0], [])

    def test_a_sum_is_over_though_no_room_is(self):
        self.assertEqual([line.split(":")[0] for line in self.found(**{"src/program/new.cc": "int a;\n" * 40})[0]],
                         ["injector", "tool"])

    def test_a_folder_without_a_row_is_found(self):
        found, _ = self.found(**{"src/core/judge/rule.cc": "int a;\n"})
        self.assertEqual(found, ["src/core/judge/rule.cc: its folder has no row in tests/layers/budget.tsv"])

    def test_tables_words_and_pages_are_counted(self):
        found, _ = self.found(**{"src/core/pod/rows.txt": "row\n", "docs/new.md": "word\n"})
        self.assertEqual([line.split(":")[0] for line in found], ["tables", "words", "pages"])

    def test_a_row_that_cannot_be_read_is_named(self):
        with self.assertRaisesRegex(SystemExit, "budget.tsv:1: expected"):
            budget.rows_of("core/pod injector code 3 -\n")


if __name__ == "__main__":
    unittest.main()
