// SPDX-License-Identifier: Apache-2.0
// nccl-env doctor and nodes: sources, forms of output, exit codes. What is found: core's doctor_test.cc.
#include <gmock/gmock.h>

#include <algorithm>

#include "cli/cli_inputs.h"

namespace nccl_env::doctor_test {
namespace {

using namespace nccl_env::testing;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string node_yaml(const std::string& name, int number, double rate = 200) {
  std::string text = "---\napiVersion: nccl-env.io/v1alpha1\nkind: NodeFabric\nmetadata: {name: " + name +
                     "}\nobserved:\n  time: \"2026-11-20T07:00:00Z\"\n  nodeInterface: eth0\n  ports:\n";
  for (int rail = 1; rail <= 4; ++rail) {
    const std::string r = std::to_string(rail);
    const std::string address = "10." + r + ".0." + std::to_string(number);
    text += "  - {hca: mlx5_" + r +
            ", port: 1, linkLayer: Ethernet, transport: RoCE, state: Active, rateGbps: " +
            std::to_string(rail == 3 ? rate : 200) +
            ", driver: mlx5_core, boardId: B, gids: [{index: 3, gid: \"::ffff:" + address +
            "\", type: RoCEv2, address: " + address + ", netdev: eth" + r + "}]}\n";
  }
  return text;
}

class Doctor : public Cli {
 protected:
  void SetUp() override { write_fleet(200); }
  // gpu-10's third rail runs at that rate.
  void write_fleet(double rate) const {
    std::filesystem::create_directories(path("fleet"));
    write("fleet/a.yaml", node_yaml("gpu-1", 1) + node_yaml("gpu-2", 2) + node_yaml("gpu-10", 10, rate));
  }
  [[nodiscard]] CliResult run(const std::string& command, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{command};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto given = [&](const std::string& option) {
      return std::find(more.begin(), more.end(), option) != more.end();
    };
    if (!given("--at")) arguments.insert(arguments.end(), {"--at", "2026-11-20T08:00:00Z"});
    if (!given("--store") && !given(path("fleet/a.yaml")))
      arguments.insert(arguments.end(), {"--store", "dir:" + path("fleet")});
    return run_cli(arguments);
  }
};

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

TEST_F(Doctor, NodesIsOneLineEachInNaturalOrderWithin80Columns) {
  write_fleet(100);
  EXPECT_EQ(run("nodes").out,
            "  NODE    HCAS      GID  GB/S         AGE  FINDINGS\n"
            "  gpu-1   mlx5_1-4  3    4x200        60m\n"
            "  gpu-2   mlx5_1-4  3    4x200        60m\n"
            "! gpu-10  mlx5_1-4  3    3x200+1x100  60m  RateLow mlx5_3\n");
}

TEST_F(Doctor, LongNamesAreCutInTheTableAndWholeInWide) {
  const std::string name = "ip-10-123-123-123.ap-southeast-1.compute.internal";
  write("fleet/z.yaml", node_yaml(name, 99, 100));
  std::istringstream lines(run("nodes").out);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_EQ(count, 5u);
  EXPECT_THAT(run("nodes", {"-o", "wide"}).out,
              AllOf(HasSubstr(name), HasSubstr("=mlx5_1,mlx5_2,mlx5_3,mlx5_4"), HasSubstr("pool-1"),
                    HasSubstr("RateLow mlx5_3: 100 Gb/s")));
}

// Pools of one cluster have long names that begin alike.
TEST_F(Doctor, NamesThatAreCutStayApart) {
  write("fleet/z.yaml", node_yaml("gke-training-a100-pool-1-7f3c", 98) +
                            node_yaml("gke-training-a100-pool-1-9b0d", 99) +
                            node_yaml("ip-10-0-3-7.eu-central-1.compute.internal", 97));
  EXPECT_THAT(run("nodes").out,
              AllOf(HasSubstr("  gke-train..ol-1-7f3c  "), HasSubstr("  gke-train..ol-1-9b0d  "),
                    HasSubstr("  ip-10-0-3-7.eu-cen..  ")));
}

TEST_F(Doctor, NodesAsJson) {
  write_fleet(100);
  const Json json = Json::parse(run("nodes", {"-o", "json"}).out);
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0]["gidIndex"], 3);
  EXPECT_EQ(json[0]["ageSeconds"], 3600);
  EXPECT_EQ(json[0]["hcaList"], "=mlx5_1,mlx5_2,mlx5_3,mlx5_4");
  EXPECT_THAT(json[0]["findings"], IsEmpty());
  EXPECT_EQ(json[2]["findings"][0]["check"], "RateLow");
}

TEST_F(Doctor, UsageFollowsTheNameOfTheProgram) {
  std::istringstream in;
  std::ostringstream out, err;
  const char* const argv[] = {"/usr/bin/kubectl-nccl_env", "doctor", "--help"};
  EXPECT_EQ(app::run_cli(3, argv, {in, out, err}), 0);
  EXPECT_THAT(out.str(), HasSubstr("Example:\n  kubectl nccl-env doctor"));
}

}  // namespace
}  // namespace nccl_env::doctor_test
