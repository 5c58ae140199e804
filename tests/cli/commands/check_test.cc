// SPDX-License-Identifier: Apache-2.0
// nccl-env policy check: findings and exit codes.
#include <gmock/gmock.h>

#include "cli/cli_inputs.h"

namespace nccl_env::check_test {
namespace {

using namespace nccl_env::testing;
using ::testing::HasSubstr;

class PolicyCheck : public Cli {};

TEST_F(PolicyCheck, IsSilentAboutGoodPolicies) {
  const CliResult result = run_cli({"policy", "check", policy});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "nccl-env: policies: 1, errors: 0, warnings: 0\n");
}

TEST_F(PolicyCheck, NamesFilePolicyAndPathOfEachFinding) {
  write("p.yaml", kPolicy + "  env: {NCCL_IB_TIMEOUT: \"99\"}\n  frobnicate: 1\n");
  const CliResult result = run_cli({"policy", "check", policy});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr(policy + ": p: error: spec.env.NCCL_IB_TIMEOUT: "));
  EXPECT_THAT(result.out, HasSubstr(policy + ": p: error: spec.frobnicate: "));
}

TEST_F(PolicyCheck, WarningsAloneAreCode0) {
  write("p.yaml", kPolicy + "  env: {NCCL_FROBNICATE: \"1\"}\n");
  const CliResult result = run_cli({"policy", "check", policy});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr(": p: warning: spec.env.NCCL_FROBNICATE: "));
}

TEST_F(PolicyCheck, PluginsNeedTheirOwnFlag) {
  write("p.yaml", kPolicy + "  env: {NCCL_NET_PLUGIN: foo}\n");
  EXPECT_EQ(run_cli({"policy", "check", policy}).code, 1);
  EXPECT_EQ(run_cli({"policy", "check", "--allow-code-paths", policy}).code, 0);
}

TEST_F(PolicyCheck, AFileWithoutAPolicyOrUnreadableIsAFinding) {
  const CliResult other = run_cli({"policy", "check", table});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.out, HasSubstr("holds no NcclPolicy"));
  const CliResult absent = run_cli({"policy", "check", path("absent"), policy});
  EXPECT_EQ(absent.code, 1);
  EXPECT_THAT(absent.out, HasSubstr("No such file"));
}

TEST_F(PolicyCheck, APolicyNameGivenTwiceIsAFinding) {
  const CliResult result = run_cli({"policy", "check", policy, write("again.yaml", kPolicy)});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("given twice"));
}

TEST_F(PolicyCheck, TheProjectsPoliciesHaveNoErrors) {
  for (const auto& entry : std::filesystem::directory_iterator(source_file("policies")))
    EXPECT_EQ(run_cli({"policy", "check", entry.path().string()}).code, 0) << entry.path();
}

}  // namespace
}  // namespace nccl_env::check_test
