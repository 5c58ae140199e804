// SPDX-License-Identifier: Apache-2.0
// nccl-env policy test: cases that hold, that differ, and that cannot be read.
#include "cli/cli_inputs.h"
#include "nccl_env/base/yaml.h"
#include "support/golden.h"

namespace nccl_env::policy_cases_test {
namespace {

using namespace nccl_env::tests;

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

const std::string kConf = "{containers: [{name: c, file: {lines: [{name: NCCL_IB_GID_INDEX, value: ";

TEST_F(PolicyCases, APartOfTheAnswerIsGood) {
  for (const std::string& expect :
       {std::string("{state: given, reason: null, absent: null, good: true}"),
        std::string("{containers: [{file: {lines: [{value: \"=mlx5_0\"}, {name: NCCL_IB_HCA}]}, env: []}]}"),
        kConf + "\"3\"}]}}]}"})
    EXPECT_EQ(run(expect).code, 0) << expect;
  expect_shown(run("{state: given}"));
}

TEST_F(PolicyCases, EachDifferenceIsToldWithWhatWasFound) {
  expect_shown(
      run("{state: not injected, reason: NotRdma, ncclAlone: {hcas: [\"mlx5_0:1\", \"mlx5_9:1\"]}, notes: "
          "{}, containers: []}"),
      1);
  for (const std::string& expect :
       {kConf + "3}]}}]}", kConf + "\"5\"}]}}]}", std::string("{containers: [[]]}")})
    EXPECT_EQ(run(expect).code, 1) << expect;
}

TEST_F(PolicyCases, RecordedTablesDoNotGetStale) {
  write("gpu-1.yaml", named(kTable, "observed:\n", "observed:\n  time: 2020-01-01T00:00:00Z\n"));
  const std::string expect = kConf + "\"3\"}]}}]}";
  EXPECT_EQ(run(expect).code, 0);
  EXPECT_EQ(run_file("policy: p.yaml\ntables: [gpu-1.yaml]\nat: 2020-01-02T00:00:00Z\ncases:\n"
                     "- {pod: pod.yaml, node: gpu-1, expect: " +
                     expect + "}\n")
                .code,
            1);
}

TEST_F(PolicyCases, DocumentsAreForPrograms) {
  const std::string expect = "{state: \"<a & b>\", policy: q}";
  const Json json = Json::parse(run(expect, {"-o", "json"}).out);
  EXPECT_EQ(json["version"], 3);
  EXPECT_EQ(json["failed"], 1);
  EXPECT_EQ(json["results"][0]["problems"].size(), 2u);
}

TEST_F(PolicyCases, AFileThatIsNotUnderstoodIsRefusedWithItsPath) {
  for (const std::string text :
       {"polcy: p.yaml\ncases: [{}]\n", "cases: [{}]\n", "policy: p.yaml\n", "policy: p.yaml\ncases: []\n",
        "policy: p.yaml\ncases: [{pod: pod.yaml}]\n",
        "policy: p.yaml\ncases: [{pod: pod.yaml, expect: {}}]\n",
        "policy: p.yaml\ncases: [{expect: {state: given}}]\n",
        "policy: p.yaml\ncases: [{pod: pod.yaml, values: {}, expect: {state: given}}]\n",
        "policy: p.yaml\ncases: [{pod: pod.yaml, template: Job/x, expect: {state: given}}]\n",
        "policy: p.yaml\nat: soon\ncases: [{pod: pod.yaml, expect: {state: given}}]\n",
        "policy: absent.yaml\ncases: [{pod: pod.yaml, expect: {state: given}}]\n", "- 1\n",
        "kind: NcclPolicy\nspec: {}\n"}) {
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
