// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "cli/cli_run.h"
#include "nccl_env/core/policy/reasons.h"

namespace nccl_env::reasons_test {
namespace {

using namespace nccl_env::tests;

TEST(ReasonsDoc, EveryReasonHasItsEntryAndNoOtherHas) {
  std::ifstream file(source_file("docs/use/reasons.md"));
  std::vector<std::string> headings;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("### ")) headings.push_back(line.substr(4));
  }
  std::vector<std::string> reasons;
  for (const Reason reason : all_reasons()) reasons.emplace_back(to_string(reason));
  EXPECT_THAT(headings, ::testing::UnorderedElementsAreArray(reasons));
}

TEST(ReasonsDoc, EveryEntrySaysWhatToDo) {
  std::ifstream file(source_file("docs/use/reasons.md"));
  std::vector<std::string> silent;
  std::string reason;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) {
      if (!reason.empty()) silent.push_back(reason);
      reason = line.starts_with("### ") ? line.substr(4) : "";
    } else if (line.find("To do:") != std::string::npos) {
      reason.clear();
    }
  }
  if (!reason.empty()) silent.push_back(reason);
  EXPECT_THAT(silent, ::testing::IsEmpty());
}

TEST(Reasons, AreToldWithTheirRemedy) {
  const CliResult one = run_cli({"reasons", "GidNotUniform"});
  EXPECT_EQ(one.code, 0);
  EXPECT_THAT(one.out, ::testing::AllOf(::testing::StartsWith("GidNotUniform  "),
                                        ::testing::Not(::testing::HasSubstr("NoTable"))));
  EXPECT_THAT(run_cli({"reasons"}).out, ::testing::HasSubstr("NoTable"));
  EXPECT_THAT(run_cli({"reasons", "NoTable", "-o", "json"}).out,
              ::testing::AllOf(::testing::HasSubstr("\"impact\": \"node\""),
                               ::testing::HasSubstr("\"document\": \"docs/use/reasons.md\"")));
}

TEST(Reasons, FindingsAreToldByTheirCode) {
  EXPECT_THAT(run_cli({"reasons", "PortDown"}).out,
              ::testing::AllOf(::testing::StartsWith("PortDown  A port of the fabric is not Active.\n"),
                               ::testing::HasSubstr("Check cable")));
  EXPECT_THAT(run_cli({"reasons", "PortDwn"}).err, ::testing::HasSubstr("do you mean PortDown?"));
}

}  // namespace
}  // namespace nccl_env::reasons_test
