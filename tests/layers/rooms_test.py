#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rooms.py draws what the includes say, and finds a page that says something else."""
import contextlib
import io
import pathlib
import tempfile
import unittest

import rooms

TREE = {
    "include/nccl_env/core/text/quote.h": '#include "nccl_env/result.h"\n',
    "include/nccl_env/core/fabric/gid.h": '#include "nccl_env/core/text/quote.h"\n#include <string>\n',
    "src/core/pod/review.cc": '#include "pod/reader.h"\n#include "nccl_env/core/fabric/gid.h"\n#include "text/quote.h"\n',
    "src/listing/import.cc": '#include "nccl_env/core/fabric/gid.h"\n#include "nccl_env/result.h"\n#include "line.h"\n',
    "src/cli/commands/table_import.cc": '#include "nccl_env/listing/import.h"\n#include "nccl_env/core/text/quote.h"\n',
    rooms.PAGE: f"# Page\n{rooms.BEGIN}\n{rooms.END}\nThe rest.\n",
}
LAYERS = "flowchart TD\n  cli --> listing\n  listing --> core\n  core --> result\n"
ROOMS = "flowchart TD\n  pod --> fabric\n  fabric --> text\n"


class Rooms(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for path, text in TREE.items():
            self.write(path, text)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def run_with(self, *options):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            code = rooms.main([*options, str(self.root)])
        return code, out.getvalue()

    def test_arrows_lead_to_what_is_included_and_none_is_implied_by_others(self):
        self.assertEqual(self.run_with(), (0, f"Layers:\n\n```mermaid\n{LAYERS}```\n\nRooms of core and judge:\n\n```mermaid\n{ROOMS}```\n"))

    def test_a_page_that_was_written_is_accepted_and_keeps_its_other_text(self):
        self.assertEqual(self.run_with("--write")[0], 0)
        self.assertEqual(self.run_with("--check")[0], 0)
        text = (self.root / rooms.PAGE).read_text()
        self.assertTrue(text.startswith(f"# Page\n{rooms.BEGIN}\n") and text.endswith(f"{rooms.END}\nThe rest.\n"), text)

    def test_an_empty_picture_is_found(self):
        code, said = self.run_with("--check")
        self.assertEqual(code, 1)
        self.assertIn("--write", said)

    def test_a_new_arrow_is_found(self):
        self.run_with("--write")
        self.write("src/cli/cluster/objects.cc", '#include "nccl_env/kube/client.h"\n')
        code, said = self.run_with("--check")
        self.assertEqual(code, 1)
        self.assertIn("  cli --> listing & kube\n", said)

    def test_a_new_arrow_between_rooms_is_found(self):
        self.run_with("--write")
        self.write("src/core/fabric/gid.cc", '#include "nccl_env/core/engines/nccl/version.h"\n')
        self.assertIn("  fabric --> engines & text\n", self.run_with("--check")[1])

    def test_a_circle_is_told(self):
        self.write("src/core/text/quote.cc", '#include "nccl_env/core/pod/review.h"\n')
        code, said = self.run_with()
        self.assertEqual(code, 1)
        self.assertIn("fabric -> text -> pod -> fabric", said)

    def test_a_page_without_markers_is_refused(self):
        self.write(rooms.PAGE, "# Page\n")
        for option in ("--check", "--write"):
            self.assertIn("expected one pair", self.run_with(option)[1])
        self.assertEqual((self.root / rooms.PAGE).read_text(), "# Page\n")


if __name__ == "__main__":
    unittest.main()
