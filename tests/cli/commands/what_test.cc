// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "cli/cli_run.h"
#include "nccl_env/core/policy/reasons.h"

namespace nccl_env::what_test {
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

TEST(What, ReasonsFindingsAndVariablesAreToldInAnyCase) {
  const CliResult one = run_cli({"what", "gidnotuniform"});
  EXPECT_EQ(one.code, 0);
  EXPECT_THAT(one.out, ::testing::AllOf(::testing::StartsWith("GidNotUniform  "),
                                        ::testing::Not(::testing::HasSubstr("NoTable"))));
  EXPECT_THAT(run_cli({"what", "PortDown"}).out,
              ::testing::AllOf(::testing::StartsWith("PortDown  A port of the fabric is not Active.\n"),
                               ::testing::HasSubstr("Check cable")));
  EXPECT_THAT(run_cli({"what", "nccl_ib_timeout"}).out,
              ::testing::AllOf(::testing::StartsWith("NCCL_IB_TIMEOUT  Takes integer from 1 to 31"),
                               ::testing::HasSubstr("docs/reference/variables.md")));
  EXPECT_THAT(run_cli({"what", "NoTable", "-o", "json"}).out,
              ::testing::AllOf(::testing::HasSubstr("\"impact\": \"node\""),
                               ::testing::HasSubstr("\"document\": \"docs/use/reasons.md\"")));
}

TEST(What, APastedLineIsSearchedForNames) {
  using ::testing::StartsWith;
  EXPECT_THAT(run_cli({"what", "! gpu-3  PortDown mlx5_3"}).out, StartsWith("PortDown "));
  EXPECT_THAT(run_cli({"what", "NCCL_IB_TC=106"}).out, StartsWith("NCCL_IB_TC "));
  EXPECT_THAT(run_cli({"what", "NCCL_FOO"}).err, ::testing::Not(::testing::HasSubstr("do you mean")));
}

TEST(What, WithoutANameAllWordsAreListedAndAMisspeltOneIsNotTaken) {
  const std::string all = run_cli({"what"}).out;
  for (const char* name : {"NoTable", "PortDown", "RailDown", "EmptyGid", "Hooks"})
    EXPECT_THAT(all, ::testing::HasSubstr(name));
  const CliResult misspelt = run_cli({"what", "PortDwn"});
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_THAT(misspelt.err, ::testing::HasSubstr("do you mean PortDown?"));
  EXPECT_THAT(run_cli({"what", "NCCL_IB_TIMOUT"}).err, ::testing::HasSubstr("do you mean NCCL_IB_TIMEOUT?"));
}

}  // namespace
}  // namespace nccl_env::what_test
