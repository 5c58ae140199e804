// SPDX-License-Identifier: Apache-2.0
// nccl-env policy test: cases that hold, that differ, and that cannot be read.
#include <gmock/gmock.h>

#include "cli/cli_inputs.h"
#include "nccl_env/base/yaml.h"
#include "support/golden.h"

namespace nccl_env::policy_cases_test {
namespace {

using namespace nccl_env::tests;
using Json = nlohmann::json;

class PolicyCases : public Cli {
 protected:
  // A file of one case over the directory's policy, table and pod.
  CliResult run(const std::string& expect, std::vector<std::string> more = {}) const {
    write("nccl-env-test.yaml",
          "policy: p.yaml\ntables: [gpu-1.yaml]\ncases:\n- pod: pod.yaml\n  expect: " + expect + "\n");
    more.insert(more.begin(), {"policy", "test", path(".")});
    return run_cli(more);
  }
  CliResult run_file(const std::string& text) const {
    return run_cli({"policy", "test", write("nccl-env-test.yaml", text)});
  }
};

TEST_F(PolicyCases, TheExpectedAnswerIsGood) {
  for (const char* expect :
       {"{decision: inject}", "{values: {NCCL_IB_HCA: \"=mlx5_0\", NCCL_IB_GID_INDEX: \"3\"}}",
        "{container: c, values: {NCCL_DEBUG: null}}"}) {
    expect_shown(run(expect));
  }
}

TEST_F(PolicyCases, ListsAreComparedByTheirPorts) {
  EXPECT_EQ(run("{values: {NCCL_IB_HCA: \"mlx5_0\"}}").code, 0);
  EXPECT_EQ(run("{values: {NCCL_IB_HCA: \"=mlx5_0,mlx5_1\"}}").code, 1);
  write("p.yaml", kPolicy + "  hca: \"=mlx5_0,mlx5_1\"\n");
  EXPECT_EQ(run("{values: {NCCL_IB_HCA: \"=mlx5_1,mlx5_0\"}}").code, 0);
  EXPECT_EQ(run("{values: {NCCL_IB_HCA: \"mlx5_1,mlx5_0\"}}").code, 1);  // takes mlx5_10, too
}

TEST_F(PolicyCases, ANodeWithoutATableIsMisspeltUnlessThatIsTheCase) {
  const std::string begin =
      "policy: p.yaml\ntables: [gpu-1.yaml]\ncases:\n- {pod: pod.yaml, node: gpu-9, expect: ";
  expect_shown(run_file(begin + "{values: {NCCL_IB_HCA: null}}}\n"), 1);
  EXPECT_EQ(run_file(begin + "{omitted: {NCCL_IB_HCA: NoTable}}}\n").code, 0);
}

TEST_F(PolicyCases, EachDifferenceIsToldWithWhatWasFound) {
  expect_shown(run("{decision: skip, reason: NotRdma, values: {NCCL_IB_HCA: \"=mlx5_9\", NCCL_DEBUG: INFO}, "
                   "omitted: {NCCL_IB_GID_INDEX: GidNotUniform}}"),
               1);
  expect_shown(run("{container: other, values: {NCCL_DEBUG: null}}"), 1);
}

TEST_F(PolicyCases, RecordedTablesDoNotGetStale) {
  write("gpu-1.yaml", named(kTable, "observed:\n", "observed:\n  time: 2020-01-01T00:00:00Z\n"));
  EXPECT_EQ(run("{values: {NCCL_IB_GID_INDEX: \"3\"}}").code, 0);
  const CliResult later = run_file(
      "policy: p.yaml\ntables: [gpu-1.yaml]\nat: 2020-01-02T00:00:00Z\ncases:\n"
      "- {pod: pod.yaml, expect: {values: {NCCL_IB_GID_INDEX: \"3\"}}}\n");
  expect_shown(later, 1);
}

TEST_F(PolicyCases, DocumentsAreForPrograms) {
  const std::string expect = "{values: {NCCL_IB_GID_INDEX: \"5\", NCCL_IB_HCA: \"<a & b>\"}}";
  const Json json = Json::parse(run(expect, {"-o", "json"}).out);
  EXPECT_EQ(json["version"], 2);
  EXPECT_EQ(json["failed"], 1);
  EXPECT_EQ(json["results"][0]["problems"].size(), 2u);
  expect_shown(run(expect, {"-o", "junit"}), 1);
}

TEST_F(PolicyCases, AFileThatIsNotUnderstoodIsRefusedWithItsPath) {
  for (const std::string text :
       {"polcy: p.yaml\n", "tables: [gpu-1.yaml]\n", "policy: p.yaml\n",
        "policy: p.yaml\ncases: [{pod: pod.yaml}]\n",
        "policy: p.yaml\ncases: [{pod: pod.yaml, expect: {}}]\n",
        "policy: p.yaml\ncases: [{pod: pod.yaml, expect: {reason: Nope}}]\n",
        "policy: p.yaml\ncases: [{pod: pod.yaml, expect: {values: {NCCL_IB_TIMEOUT: 20}}}]\n",
        "policy: p.yaml\ncases: [{pod: pod.yaml, expect: {values: {NCCL_IB_TIMOUT: null}}}]\n",
        "policy: p.yaml\ncases: [{pod: pod.yaml, template: Job/x, expect: {decision: inject}}]\n",
        "policy: absent.yaml\ncases: []\n", "- 1\n", "kind: NcclPolicy\nspec: {}\n"}) {
    const CliResult result = run_file(text);
    EXPECT_EQ(result.code, 4) << text;
    EXPECT_EQ(result.out, "");
    expect_golden(text, steady(result.err));
  }
}

TEST_F(PolicyCases, ADirectoryWithoutCasesIsNothingToLookAt) {
  expect_shown(run_cli({"policy", "test", path(".")}), 3);
  EXPECT_EQ(run_cli({"policy", "test", path("absent")}).code, 4);
}

}  // namespace
}  // namespace nccl_env::policy_cases_test
