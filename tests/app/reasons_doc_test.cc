// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "cli_run.h"
#include "nccl_env/core/reasons.h"

namespace nccl_env {
namespace {

using namespace nccl_env::testing;

TEST(ReasonsDoc, EveryReasonHasItsEntryAndNoOtherHas) {
  std::ifstream file(source_file("docs/reasons.md"));
  std::vector<std::string> headings;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("### ")) headings.push_back(line.substr(4));
  }
  std::vector<std::string> reasons;
  for (const Reason reason : all_reasons()) reasons.emplace_back(to_string(reason));
  EXPECT_THAT(headings, ::testing::UnorderedElementsAreArray(reasons));
}

}  // namespace
}  // namespace nccl_env
