// SPDX-License-Identifier: Apache-2.0
// nccl-env policy check: findings and exit codes.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/cli_inputs.h"

namespace nccl_env::check_test {
namespace {

using namespace nccl_env::tests;

class PolicyCheck : public Cli {
 protected:
  [[nodiscard]] CliResult check(const std::string& text, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"policy", "check", write("p.yaml", text)});
    return run_cli(more);
  }
};

TEST_F(PolicyCheck, NamesFilePolicyAndPathOfEachFinding) {
  const std::pair<std::string, int> policies[] = {
      {kPolicy, 0},
      {kPolicy + "  env: {NCCL_IB_TIMEOUT: \"99\"}\n  frobnicate: 1\n", 1},
      {kPolicy + "  env: {NCCL_FROBNICATE: \"1\"}\n", 0},
      {kPolicy + "  fabric: {linkLayer: Ethernet}\n", 0},  // its oldest NCCL is not said
      {kPolicy + "  fabric: {linkLayer: Ethernet}\n  nccl: {minVersion: \"2.18.5\"}\n", 0},
      {kPolicy + "  fabric: {linkLayer: InfiniBand}\n", 0},
      // Mistakes that are likely.
      {named(kPolicy, "NcclPolicy", "NCCLPolicy"), 1},
      {kPolicy + "  nccl: {minVersion: 2.21}\n", 1},
      {kPolicy + "  fabric: {hcas: mlx5_[1-8]}\n", 1},
      {kPolicy + "  fabric: {expectPorts: \"4\"}\n", 1},
      {kTable, 1},
      {"a: [1,\n", 1}};
  for (const auto& [text, code] : policies) expect_shown(check(text), code);
  EXPECT_EQ(check(kPolicy).out, "") << "silent about a good one";
  EXPECT_THAT(check(kPolicy + "  hca: mlx5_1\n  mode: Off\n").out,
              ::testing::ContainsRegex("error: spec.mode.*\n.*warning: spec.hca"))
      << "the worst first";
}

TEST_F(PolicyCheck, FilesAndDirectoriesAreReadTogether) {
  expect_shown(run_cli({"policy", "check", path("absent"), policy}), 4);
  expect_shown(run_cli({"policy", "check", policy, write("again.yaml", kPolicy)}), 1);
  std::filesystem::create_directory(path("folder"));
  expect_shown(run_cli({"policy", "check", path("folder")}), 1);
  EXPECT_EQ(run_cli({"policy", "check", source_file("policies")}).code, 0) << "the project's own";
}

TEST_F(PolicyCheck, APolicyThatTurnsItsOwnNetworkOffOrRunsCodeIsRefused) {
  const std::string none =
      "  fabric: {hcas: [mlx5_0], excludeHcas: [mlx5_0]}\n";  // no node ever gives a list
  const std::pair<std::string, int> policies[] = {
      {"  env: {NCCL_IB_DISABLE: \"1\"}\n", 1},
      {"  env: {NCCL_IB_DISABLE: \"1\"}\n  hca: Omit\n", 0},
      {"  env: {NCCL_NET: gIB}\n", 0},
      {none, 1},
      {none + "  hca: Omit\n", 0},
      {none + "  variants: [{when: {nodeLabels: {a: b}}, fabric: {hcas: [mlx5_1]}}]\n", 0},
      {"  env: {NCCL_NET_PLUGIN: foo}\n", 1}};
  for (const auto& [more, code] : policies) EXPECT_EQ(check(kPolicy + more).code, code) << more;
  EXPECT_EQ(check(kPolicy + "  env: {NCCL_NET_PLUGIN: foo}\n", {"--allow-code-paths"}).code, 0);
}

TEST_F(PolicyCheck, ADocumentHoldsTheSameFindings) {
  write("p.yaml", kPolicy + "  frobnicate: 1\n");
  const CliResult json = run_cli({"policy", "check", policy, path("absent"), "-o", "json"});
  EXPECT_EQ(json.code, 4);
  const auto document = nlohmann::json::parse(json.out);
  EXPECT_EQ(document["version"], 3);
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
}

TEST_F(PolicyCheck, LinesCountFromTheFilesBeginning) {
  const std::string wrong = kPolicy + "  frobnicate: 1\n";
  const auto lines_of = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  const auto line = std::to_string(lines_of(kPolicy) + 1 + lines_of(wrong));
  const CliResult result = check(kPolicy + "---\n" + wrong);
  EXPECT_THAT(result.out, HasSubstr(policy + ":" + line + ": p: error: spec.frobnicate"));
}

}  // namespace
}  // namespace nccl_env::check_test
