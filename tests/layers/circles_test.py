#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""circles.py finds a circle of files, inside a room and across rooms, and only a circle."""
import pathlib
import tempfile
import unittest

import circles


def found(files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return circles.circles(circles.graph(root))


class Circles(unittest.TestCase):
    def test_a_header_and_its_source_are_one(self):
        self.assertEqual(found({
            "include/nccl_env/net/tls/pki.h": '#include "nccl_env/result.h"\n#include <string>\n',
            "src/net/tls/pki.cc": '#include "nccl_env/net/tls/pki.h"\n#include "tls/openssl.h"\n',
            "src/net/tls/openssl.h": "",
            "include/nccl_env/result.h": "",
        }), [])

    def test_two_sources_that_use_each_others_headers_are_a_circle(self):
        self.assertEqual(found({
            "include/nccl_env/net/server/server.h": "",
            "src/net/server/server.cc": '#include "nccl_env/net/server/server.h"\n#include "server/worker.h"\n',
            "src/net/server/worker.h": "",
            "src/net/server/worker.cc": '#include "server/worker.h"\n#include "nccl_env/net/server/server.h"\n',
        }), [["net/server/server", "net/server/worker"]])

    def test_a_circle_of_three_is_found_across_rooms_and_by_names_from_the_same_folder(self):
        self.assertEqual(found({
            "src/listing/line.h": '#include "values.h"\n',
            "src/listing/values.cc": '#include "nccl_env/core/text/strict.h"\n',
            "src/listing/values.h": "",
            "include/nccl_env/core/text/strict.h": "",
            "src/core/text/strict.cc": '#include "nccl_env/listing/line.h"\n',
            "include/nccl_env/listing/line.h": "",
        }), [["core/text/strict", "listing/line", "listing/values"]])


if __name__ == "__main__":
    unittest.main()
