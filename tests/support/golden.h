// SPDX-License-Identifier: Apache-2.0
// Sentences stand once: what a test shows its reader is in tests/data/golden/PATH.txt, where PATH_test.cc is
// the test's file. `make goldens` writes what the tests say now. A decision has a code: a test checks that
// itself.
#pragma once

#include <string_view>

namespace nccl_env::tests {

// Where a test says something, as std::source_location, which clang 14 has not.
struct Place {
  const char* file;
  int line;
  static constexpr Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

// Compares what the running test says with its section of the golden: one entry for each call, in their
// order, the input beside the output. A test fails, too, whose section has more than it said or is missing.
void expect_golden(std::string_view input, std::string_view output, Place at = Place::here());
// The same for a test that has one case: its name says which.
void expect_golden(std::string_view output, Place at = Place::here());

}  // namespace nccl_env::tests
