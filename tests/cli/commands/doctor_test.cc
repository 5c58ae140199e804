// SPDX-License-Identifier: Apache-2.0
// nccl-env doctor: sources, forms of output, exit codes. What is found: core's doctor_test.cc.
#include <gmock/gmock.h>

#include "cli/fleet.h"

namespace nccl_env::doctor_test {
namespace {

using namespace nccl_env::testing;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class Doctor : public Fleet {};

TEST_F(Doctor, HealthyIsCode0AndAFindingCode1) {
  const CliResult good = run("doctor");
  EXPECT_EQ(good.code, 0);
  EXPECT_THAT(good.out, StartsWith("3 nodes, 1 pool: healthy\n"));
  write_fleet(100);
  const CliResult bad = run("doctor");
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.out, HasSubstr("  gpu-10  mlx5_3  100 Gb/s; most of its pool's have 200 Gb/s\n"));
  EXPECT_EQ(bad.err, "");
}

TEST_F(Doctor, JsonNamesTheFinding) {
  write_fleet(100);
  const Json json = Json::parse(run("doctor", {"-o", "json"}).out);
  EXPECT_EQ(json["findings"][0]["node"], "gpu-10");
  EXPECT_EQ(json["findings"][0]["hca"], "mlx5_3");
}

TEST_F(Doctor, FilesServeAsWellAsAStore) {
  const CliResult result = run("doctor", {path("fleet/a.yaml")});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("3 nodes"));
}

TEST_F(Doctor, ARefusedManifestIsAFindingAndTheOthersCount) {
  write("fleet/b.yaml", "kind: NodeFabric\napiVersion: nccl-env.io/v1alpha1\nmetadata: {name: gpu-3}\n");
  write("fleet/c.yaml", "a: [");
  write("fleet/d.txt", "not looked at");
  const CliResult result = run("doctor");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out,
              AllOf(StartsWith("3 nodes, 1 pool: 2 errors\n"), HasSubstr("gpu-3"), HasSubstr("c.yaml")));
  EXPECT_THAT(run("nodes").err, AllOf(HasSubstr("gpu-3"), HasSubstr("c.yaml")));
}

TEST_F(Doctor, ThePoliciesOfTheStoreDecideWhatIsFabric) {
  write_fleet(100);
  write("fleet/p.yaml", kPolicy + "  fabric: {hcas: [mlx5_1]}\n");
  EXPECT_EQ(run("doctor").code, 0);
  EXPECT_EQ(run("doctor", {"--policy-name", "q"}).code, 2);
}

TEST_F(Doctor, StaleByTheAgeThatIsGiven) {
  EXPECT_EQ(run("doctor", {"--max-table-age", "61m"}).code, 0);
  EXPECT_EQ(run("doctor", {"--max-table-age", "59m"}).code, 1);
}

TEST_F(Doctor, StaleByTheWebhooksOwnAge) {
  write("fleet/p.yaml", kPolicy + "status: {maxTableAgeSeconds: 3660}\n");
  EXPECT_EQ(run("doctor").code, 0);
  write("fleet/p.yaml", kPolicy + "status: {maxTableAgeSeconds: 3540}\n");
  EXPECT_EQ(run("doctor").code, 1);
  EXPECT_EQ(run("doctor", {"--max-table-age", "61m"}).code, 0) << "what is given counts";
}

TEST_F(Doctor, WrongUsageIsCode2) {
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--store", "kubernetes"},
                                             {"--store", "dir:" + path("fleet"), table},
                                             {"--store", "dir:" + path("fleet"), "--policy", policy},
                                             {"--max-table-age", "3"},
                                             {"--max-table-age", "-3h"},
                                             {"--max-table-age", "99999999999999999999h"},
                                             {"-o", "xml"},
                                             {"--at", "now"}}) {
    const CliResult result = run("doctor", more);
    EXPECT_EQ(result.code, 2) << ::testing::PrintToString(more);
    EXPECT_THAT(result.out, IsEmpty());
  }
}

TEST_F(Doctor, NothingToLookAtIsNotHealthy) {
  std::filesystem::create_directories(path("none"));
  const CliResult result = run("doctor", {"--store", "dir:" + path("none")});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("there is no NodeFabric"));
  EXPECT_EQ(run("doctor", {"--store", "dir:" + path("absent")}).code, 1);
  const CliResult config = run_cli({"doctor", "--kubeconfig", path("absent")});
  EXPECT_EQ(config.code, 1);
  EXPECT_THAT(config.err, AllOf(HasSubstr(path("absent")), HasSubstr("--store dir:PATH")));
}

}  // namespace
}  // namespace nccl_env::doctor_test
