#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""signposts.py finds a path that is not there, in each form that the pages have."""
import pathlib
import tempfile
import unittest

import signposts

FILES = ("include/nccl_env/core/decide/plan.h", "src/core/decide/plan.cc", "src/core/policy/words.h", "docs/reference/cli.md",
         "src/cli/commands/table_show.cc", "include/nccl_env/store/store.h")


class Signposts(unittest.TestCase):
    def missing(self, line):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path in FILES:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).touch()
            (root / "page.md").write_text(f"# Page\n{line}\n")
            return list(signposts.missing(root, "page.md"))

    def test_what_is_there_is_accepted(self):
        for line in ("see `src/core/decide/plan`, `src/core/policy/words.h`, `docs/reference/cli.md` and `src/store/store`",
                     "| x | `src/core/decide/plan`; its folder `src/core/policy/` |",
                     "`src/cli/commands/NAME.cc`", "`ctest` and `--help`, `store/store.h`"):
            self.assertEqual(self.missing(line), [], line)

    def test_what_is_not_there_is_found_with_its_line(self):
        self.assertEqual(self.missing("see `src/core/decide/match`"), ["page.md:2: src/core/decide/match"])
        self.assertEqual(self.missing("`src/agent/NAME.cc`"), ["page.md:2: src/agent/NAME.cc"])

    def test_a_rows_bare_words_are_files_of_the_folder_before(self):
        self.assertEqual(self.missing("| `wish` | `src/core/decide/plan`, `plan.cc` |"), [])
        self.assertEqual(self.missing("| x | `src/core/decide/plan`, `match` |"), ["page.md:2: src/core/decide/match"])
        self.assertEqual(self.missing("see `src/core/decide/plan` for `match`"), [])


if __name__ == "__main__":
    unittest.main()
