// SPDX-License-Identifier: Apache-2.0
// nccl-env policy check: findings and exit codes.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/cli_inputs.h"
#include "nccl_env/base/yaml.h"

namespace nccl_env::check_test {
namespace {

using namespace nccl_env::tests;

class PolicyCheck : public Cli {};

TEST_F(PolicyCheck, IsSilentAboutGoodPolicies) {
  const CliResult result = run_cli({"policy", "check", policy});
  EXPECT_EQ(result.out, "");
  expect_shown(result);
}

TEST_F(PolicyCheck, NamesFilePolicyAndPathOfEachFinding) {
  write("p.yaml", kPolicy + "  env: {NCCL_IB_TIMEOUT: \"99\"}\n  frobnicate: 1\n");
  expect_shown(run_cli({"policy", "check", policy}), 1);
  expect_shown(run_cli({"policy", "check", path("absent"), policy}), 4);
  write("p.yaml", kPolicy + "  env: {NCCL_FROBNICATE: \"1\"}\n");
  expect_shown(run_cli({"policy", "check", policy}));
}

TEST_F(PolicyCheck, DocumentsHoldTheSameFindingsInJsonAndYaml) {
  write("p.yaml", kPolicy + "  frobnicate: 1\n");
  const CliResult json = run_cli({"policy", "check", policy, path("absent"), "-o", "json"});
  EXPECT_EQ(json.code, 4);
  const auto document = nlohmann::json::parse(json.out);
  EXPECT_EQ(document["version"], 2);
  EXPECT_EQ(document["policies"], 1);
  EXPECT_EQ(document["errors"], 2);
  EXPECT_EQ(document["warnings"], 0);
  ASSERT_EQ(document["findings"].size(), 2u);
  const auto& finding = document["findings"][0];
  EXPECT_EQ(finding["code"], "PolicyField");
  EXPECT_EQ(finding["subject"]["file"], policy);
  EXPECT_EQ(finding["subject"]["name"], "p");
  EXPECT_EQ(finding["severity"], "error");
  EXPECT_EQ(finding["subject"]["path"], "spec.frobnicate");
  EXPECT_EQ(document["findings"][1]["sentence"], path("absent") + ": No such file or directory");

  const CliResult yaml = run_cli({"policy", "check", policy, path("absent"), "-o", "yaml"});
  EXPECT_EQ(yaml.code, 4);
  const auto same = parse_documents(yaml.out, "check.yaml");
  ASSERT_TRUE(same) << same.error().message;
  ASSERT_EQ(same->size(), 1u);
  EXPECT_EQ(same->front(), document);
}

TEST_F(PolicyCheck, LinesCountFromTheFilesBeginning) {
  const std::string wrong = kPolicy + "  frobnicate: 1\n";
  const auto lines_of = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  write("p.yaml", kPolicy + "---\n" + wrong);
  const auto line = std::to_string(lines_of(kPolicy) + 1 + lines_of(wrong));
  const CliResult result = run_cli({"policy", "check", policy});
  EXPECT_THAT(result.out, ::testing::HasSubstr(policy + ":" + line + ": p: error: spec.frobnicate"));
}

TEST_F(PolicyCheck, PluginsNeedTheirOwnFlag) {
  write("p.yaml", kPolicy + "  env: {NCCL_NET_PLUGIN: foo}\n");
  EXPECT_EQ(run_cli({"policy", "check", policy}).code, 1);
  EXPECT_EQ(run_cli({"policy", "check", "--allow-code-paths", policy}).code, 0);
}

TEST_F(PolicyCheck, AFileWithoutAPolicyIsAFinding) {
  expect_shown(run_cli({"policy", "check", table}), 1);
  expect_shown(run_cli({"policy", "check", write("broken.yaml", "a: [1,\n")}), 1);
  expect_shown(run_cli({"policy", "check", policy, write("again.yaml", kPolicy)}), 1);
}

TEST_F(PolicyCheck, TheMistakeThatIsLikelyIsNamed) {
  expect_shown(run_cli({"policy", "check", write("kind.yaml", named(kPolicy, "NcclPolicy", "NCCLPolicy"))}),
               1);
  const std::string number = kPolicy + "  nccl: {minVersion: 2.21}\n";
  expect_shown(run_cli({"policy", "check", write("number.yaml", number)}), 1);
  const std::string flow = kPolicy + "  fabric: {hcas: mlx5_[1-8]}\n";
  expect_shown(run_cli({"policy", "check", write("flow.yaml", flow)}), 1);
}

TEST_F(PolicyCheck, ANumberInQuotesIsToldSo) {
  const std::string quoted = kPolicy + "  fabric: {expectPorts: \"4\"}\n";
  expect_shown(run_cli({"policy", "check", write("quoted.yaml", quoted)}), 1);
}

TEST_F(PolicyCheck, APolicyThatTurnsItsOwnNetworkOffIsRefused) {
  const auto code_of = [&](const std::string& more) {
    return run_cli({"policy", "check", write("p.yaml", kPolicy + more)}).code;
  };
  EXPECT_EQ(code_of("  env: {NCCL_IB_DISABLE: \"1\"}\n"), 1);
  EXPECT_EQ(code_of("  env: {NCCL_IB_DISABLE: \"1\"}\n  hca: Omit\n"), 0);
  EXPECT_EQ(code_of("  env: {NCCL_NET: gIB}\n"), 0);
  const std::string none = "  fabric: {hcas: [mlx5_0], excludeHcas: [mlx5_0]}\n";
  EXPECT_EQ(code_of(none), 1) << "no node ever gives a list";
  EXPECT_EQ(code_of(none + "  hca: Omit\n"), 0);
  EXPECT_EQ(code_of(none + "  variants: [{when: {nodeLabels: {a: b}}, fabric: {hcas: [mlx5_1]}}]\n"), 0);
}

TEST_F(PolicyCheck, ADirectoryCountsForItsManifests) {
  std::filesystem::create_directory(path("folder"));
  expect_shown(run_cli({"policy", "check", path("folder")}), 1);
  EXPECT_EQ(run_cli({"policy", "check", source_file("policies")}).code, 0) << "the project's own";
}

TEST_F(PolicyCheck, ARocePolicySaysTheOldestNccl) {
  write("p.yaml", kPolicy + "  fabric: {linkLayer: Ethernet}\n");
  const CliResult noted = run_cli({"policy", "check", policy});
  EXPECT_EQ(noted.code, 0);
  EXPECT_THAT(noted.out, ::testing::HasSubstr("info: spec.nccl.minVersion: not said"));
  write("p.yaml", kPolicy + "  fabric: {linkLayer: Ethernet}\n  nccl: {minVersion: \"2.18.5\"}\n");
  EXPECT_EQ(run_cli({"policy", "check", policy}).out, "");
  write("p.yaml", kPolicy + "  fabric: {linkLayer: InfiniBand}\n");
  EXPECT_EQ(run_cli({"policy", "check", policy}).out, "");
}

}  // namespace
}  // namespace nccl_env::check_test
