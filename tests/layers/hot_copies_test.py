#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hot_copies.py finds a hot layer's function that was dropped for a cold layer's copy, and only that."""
import unittest

import hot_copies

MAP = """Discarded input sections

 .text._ZN8nccl_env5ValueD2Ev
                0x0000000000000000       0x61 {dropped}
 .text._short   0x0000000000000000       0x10 src/libnccl_env_cold.a(unity_0_cxx.cxx.o)
 .group         0x0000000000000000        0xc {dropped}

Memory Configuration

 .text          0x0000000000001000      0x100 {kept}
 .text._ZN8nccl_env5ValueD2Ev
                0x0000000000001100       0x61 {kept}
 .text._short   0x0000000000001161       0x10 src/CMakeFiles/nccl_env_core.dir/value.cc.o
"""
HOT, COLD = "src/CMakeFiles/nccl_env_core.dir/value.cc.o", "src/libnccl_env_cold.a(unity_0_cxx.cxx.o)"


class HotCopies(unittest.TestCase):
    def test_a_hot_function_of_a_cold_layer_is_found(self):
        found = list(hot_copies.violations(MAP.format(dropped=HOT, kept=COLD), ["nccl_env_cold"]))
        self.assertEqual(found, [".text._ZN8nccl_env5ValueD2Ev: value.cc.o lost its copy to "
                                 "libnccl_env_cold.a(unity_0_cxx.cxx.o)"])

    def test_copies_of_hot_layers_and_of_cold_layers_alone_are_not(self):
        self.assertEqual(list(hot_copies.violations(MAP.format(dropped=COLD, kept=HOT), ["nccl_env_cold"])), [])
        self.assertEqual(list(hot_copies.violations(MAP.format(dropped=HOT, kept=HOT), ["nccl_env_cold"])), [])
        self.assertEqual(list(hot_copies.violations(MAP.format(dropped=COLD, kept=COLD), ["nccl_env_cold"])), [])


if __name__ == "__main__":
    unittest.main()
