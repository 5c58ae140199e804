#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each rule of include_rules.py fires on a tree that breaks it, and only then."""
import pathlib
import tempfile
import unittest

import include_rules


def problems(files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return include_rules.check_tree(root)


class IncludeRules(unittest.TestCase):
    def refused(self, path, text, rule):
        found = problems({path: text})
        self.assertEqual(len(found), 1, found)
        self.assertIn(rule, found[0])

    def accepted(self, files):
        self.assertEqual(problems(files), [])

    def test_what_the_layers_need_is_accepted(self):
        self.accepted({
            "src/core/fabric/gid.cc": '#include "nccl_env/core/fabric/gid.h"\n#include <arpa/inet.h>\n#include <string>\n',
            "src/core/pod/review.cc": "#include <simdjson.h>\n#include <nlohmann/json.hpp>\n",
            "include/nccl_env/core/fabric/gid.h": '#include "nccl_env/result.h"\n',
            "src/net/server.cc": "#include <boost/beast/http.hpp>\n#include <openssl/ssl.h>\n",
            "src/node/libibverbs/libibverbs.cc": "#include <infiniband/verbs.h>\n",
            "tests/net/server_test.cc": "#include <boost/asio.hpp>\n#include <fstream>\n",
        })

    def test_an_empty_tree_proves_nothing(self):
        self.assertEqual(len(problems({})), 1)

    def test_core_stays_pure(self):
        self.refused("src/core/a.cc", "#include <fstream>\n", "<fstream>")
        self.refused("src/core/a.cc", "#include <sys/socket.h>\n", "only std and JSON")
        self.refused("include/nccl_env/core/a.h", '#include "nccl_env/base/log.h"\n', "nccl_env/base/log.h")
        self.refused("src/core/a.cc", "auto t = std::chrono::system_clock::now();\n", "the clock")
        self.refused("src/core/a.cc", "auto t = time(nullptr);\n", "the clock")
        self.refused("src/core/a.cc", "int s = socket (1, 2, 3);\n", "a socket")
        self.refused("src/core/a.cc", 'auto f = fopen("x", "r");\n', "a file")
        self.refused("src/core/a.cc", 'auto v = std::getenv("X");\n', "the process")

    def test_words_in_comments_and_strings_are_no_calls(self):
        self.accepted({"src/core/a.cc": '// system_clock::now()\n/* socket( */ auto s = "fopen(";\n'
                                        'auto r = R"(::now(\n)";\nint f(int now);\n'})

    def test_line_numbers_survive_comments(self):
        self.refused("src/core/a.cc", "/* one\n two */\nauto t = Clock::now();\n", "a.cc:3:")

    def test_simdjson_only_reads_reviews(self):
        self.refused("src/core/policy/policy.cc", "#include <simdjson.h>\n", "src/core/pod/")

    def test_beast_stays_in_two_files_and_out_of_headers(self):
        beast = "#include <boost/beast/core.hpp>\n"
        self.refused("src/net/http.h", beast, "in a header")
        self.accepted({"src/net/a.cc": beast, "src/net/b.cc": beast})
        found = problems({"src/net/a.cc": beast, "src/net/b.cc": beast, "src/net/c.cc": beast})
        self.assertEqual(len(found), 1, found)
        self.assertIn("Beast in 3 files", found[0])

    def test_libraries_stay_in_their_layer(self):
        self.refused("src/listing/a.cc", "#include <boost/asio.hpp>\n", "boost/asio.hpp")
        self.refused("src/store/a.cc", "#include <yaml-cpp/yaml.h>\n", "src/base/")
        self.refused("include/nccl_env/cli/cli.h", "#include <CLI/CLI.hpp>\n", "src/cli/")

    def test_verbs_stay_in_verbs(self):
        self.refused("src/net/a.cc", "#include <infiniband/verbs.h>\n#include <string>\n", "src/node")
        self.refused("src/node/probe.cc", "#include <infiniband/verbs.h>\n", "outside src/node/libibverbs")
        self.refused("src/packets/member.cc", "#include <infiniband/verbs.h>\n", "src/packets/libibverbs")
        self.refused("tests/net/a_test.cc", "#include <infiniband/verbs.h>\n", "outside src/node")

    def test_rooms_include_only_what_stands_below(self):
        self.refused("src/core/fabric/a.cc", '#include "nccl_env/core/policy/policy.h"\n', "fabric does not stand above policy")
        self.refused("src/core/choose/a.h", '#include "nccl_env/core/pod/review.h"\n', "choose does not stand above pod")
        self.refused("include/nccl_env/core/pod/a.h", '#include "nccl_env/core/decide/plan.h"\n', "pod does not stand above decide")
        self.refused("src/core/decide/a.cc", '#include "nccl_env/core/motors/a.h"\n', "motors is not a room")
        self.refused("src/core/decide/a.cc", '#include "nccl_env/judge/cohort/a.h"\n', "core includes nccl_env/judge")
        self.refused("src/net/server/a.cc", '#include "client/b.h"\n', "server does not stand above client")
        self.refused("src/cli/cluster/a.cc", '#include "commands/b.h"\n', "cluster does not stand above commands")
        self.refused("src/cli/commands/a.cc", '#include "a.h"\n', "reaches out of the rooms of cli")
        self.accepted({
            "src/judge/explain/a.cc": '#include "explain/b.h"\n#include "nccl_env/core/decide/plan.h"\n',
            "src/cli/cli.cc": '#include "nccl_env/cli/cli.h"\n#include "commands/b.h"\n',
            "src/net/file_watch.cc": '#include "nccl_env/net/tls/tls.h"\n',
            "src/store/a.cc": '#include "b.h"\n#include "nccl_env/core/pod/review.h"\n',
        })

    def test_no_path_around_the_layers(self):
        self.refused("src/listing/a.cc", '#include "../net/tls.h"\n', "..")


if __name__ == "__main__":
    unittest.main()
