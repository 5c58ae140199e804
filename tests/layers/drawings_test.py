#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""drawings.py finds a room of which no header begins with a drawing."""
import pathlib
import tempfile
import unittest

import drawings

DRAWN = "// SPDX\n// Purpose.\n//\n//   [ Pod ] --> [ Container ]*\n//\n#pragma once\n"


class Drawings(unittest.TestCase):
    def missing(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            return list(drawings.missing(root))

    def test_one_drawing_a_room_is_enough_in_a_public_header_or_a_private_one(self):
        self.assertEqual(self.missing({
            "src/core/pod/reader.h": DRAWN,
            "include/nccl_env/core/pod/review.h": "#pragma once\n",
            "include/nccl_env/kube/client.h": DRAWN,
            "include/nccl_env/net/file_watch.h": "#pragma once\n",
            "include/nccl_env/result.h": "#pragma once\n",
        }), [])

    def test_a_drawing_elsewhere_does_not_count_nor_does_a_sentence(self):
        self.assertEqual(self.missing({
            "src/core/pod/reader.h": "// [ Pod ] is read.\n#pragma once\n" + DRAWN,
            "src/core/pod/reader.cc": DRAWN,
            "include/nccl_env/kube/client.h": "// Empty -> Paging\n#pragma once\n",
        }), ["core/pod", "kube"])


if __name__ == "__main__":
    unittest.main()
