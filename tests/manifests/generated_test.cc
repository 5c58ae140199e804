// SPDX-License-Identifier: Apache-2.0
// Compares what was generated from the descriptions of our objects with what they say now.
#include <gtest/gtest.h>

#include <fstream>

#include "generate/outputs.h"
#include "support/places.h"

namespace nccl_env::generated_test {
namespace {

TEST(Generated, FilesAreAsTheyWouldBeWritten) {
  for (const generate::Output& output : generate::outputs()) {
    std::ifstream file(tests::in_source("/" + output.path));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(text, output.text) << output.path << ": run make generate";
  }
}

}  // namespace
}  // namespace nccl_env::generated_test
