// SPDX-License-Identifier: Apache-2.0
// nccl-env policy test: cases that hold, that differ, and that cannot be read.
#include <gmock/gmock.h>

#include "cli/cli_inputs.h"
#include "nccl_env/base/yaml.h"

namespace nccl_env::policy_cases_test {
namespace {

using namespace nccl_env::tests;
using ::testing::AllOf;
using ::testing::HasSubstr;
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
    const CliResult result = run(expect);
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr("nccl-env-test.yaml: pod.yaml Pod/train on gpu-1\n"));
    EXPECT_EQ(result.err, "nccl-env: cases: 1, failed: 0\n");
  }
}

TEST_F(PolicyCases, EachDifferenceIsToldWithWhatWasFound) {
  const CliResult result =
      run("{decision: skip, reason: NotRdma, values: {NCCL_IB_HCA: \"=mlx5_9\", NCCL_DEBUG: INFO}, "
          "omitted: {NCCL_IB_GID_INDEX: GidNotUniform}}");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("FAIL  "), HasSubstr("expected skip, found inject"),
                    HasSubstr("expected NotRdma, found inject"),
                    HasSubstr("c: NCCL_IB_HCA: expected \"=mlx5_9\", found \"=mlx5_0\"\n"),
                    HasSubstr("c: NCCL_DEBUG: expected \"INFO\", found nothing\n"),
                    HasSubstr("c: NCCL_IB_GID_INDEX: expected nothing: GidNotUniform, found \"3\"\n")));
  EXPECT_EQ(result.err, "nccl-env: cases: 1, failed: 1\n");
}

TEST_F(PolicyCases, AContainerThatIsNotThereIsNotGood) {
  const CliResult result = run("{container: other, values: {NCCL_DEBUG: null}}");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("expected values for container other, found inject"));
}

TEST_F(PolicyCases, RecordedTablesDoNotGetStale) {
  write("gpu-1.yaml", named(kTable, "observed:\n", "observed:\n  time: 2020-01-01T00:00:00Z\n"));
  EXPECT_EQ(run("{values: {NCCL_IB_GID_INDEX: \"3\"}}").code, 0);
  const CliResult later = run_file(
      "policy: p.yaml\ntables: [gpu-1.yaml]\nat: 2020-01-02T00:00:00Z\ncases:\n"
      "- {pod: pod.yaml, expect: {values: {NCCL_IB_GID_INDEX: \"3\"}}}\n");
  EXPECT_EQ(later.code, 1);
  EXPECT_THAT(later.out, HasSubstr("StaleTable"));
}

TEST_F(PolicyCases, DocumentsAreForPrograms) {
  const std::string expect = "{values: {NCCL_IB_GID_INDEX: \"5\", NCCL_IB_HCA: \"<a & b>\"}}";
  const Json json = Json::parse(run(expect, {"-o", "json"}).out);
  EXPECT_EQ(json["version"], 2);
  EXPECT_EQ(json["failed"], 1);
  EXPECT_EQ(json["results"][0]["problems"].size(), 2u);
  EXPECT_THAT(
      run(expect, {"-o", "junit"}).out,
      AllOf(HasSubstr("tests=\"1\" failures=\"1\""), HasSubstr("expected &quot;5&quot;, found &quot;3&quot;"),
            HasSubstr("&lt;a &amp; b&gt;"), HasSubstr("</testsuite>\n")));
}

TEST_F(PolicyCases, AFileThatIsNotUnderstoodIsRefusedWithItsPath) {
  const std::pair<std::string, std::string> files[] = {
      {"polcy: p.yaml\n", "polcy: unknown field: do you mean policy?"},
      {"tables: [gpu-1.yaml]\n", "policy: must name a file"},
      {"policy: p.yaml\n", "cases: must hold at least one"},
      {"policy: p.yaml\ncases: [{pod: pod.yaml}]\n", "cases[0].expect: must be an object"},
      {"policy: p.yaml\ncases: [{pod: pod.yaml, expect: {}}]\n", "cases[0].expect: is empty, and would pass"},
      {"policy: p.yaml\ncases: [{pod: pod.yaml, expect: {reason: Nope}}]\n",
       "cases[0].expect.reason: is not a reason"},
      {"policy: p.yaml\ncases: [{pod: pod.yaml, expect: {values: {NCCL_IB_TIMEOUT: 20}}}]\n",
       "cases[0].expect.values.NCCL_IB_TIMEOUT: must be a text in quotes"},
      {"policy: p.yaml\ncases: [{pod: pod.yaml, template: Job/x, expect: {decision: inject}}]\n",
       "pod.yaml: holds no pod template Job/x"},
      {"policy: absent.yaml\ncases: []\n", "absent.yaml: No such file"},
      {"- 1\n", "must be an object"},
  };
  for (const auto& [text, problem] : files) {
    const CliResult result = run_file(text);
    EXPECT_EQ(result.code, 4) << text;
    EXPECT_THAT(result.err, HasSubstr(problem));
    EXPECT_EQ(result.out, "");
  }
}

TEST_F(PolicyCases, ADirectoryWithoutCasesIsNothingToLookAt) {
  const CliResult none = run_cli({"policy", "test", path(".")});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.err, HasSubstr("holds no nccl-env-test.yaml"));
  EXPECT_EQ(run_cli({"policy", "test", path("absent")}).code, 4);
}

}  // namespace
}  // namespace nccl_env::policy_cases_test
