// SPDX-License-Identifier: Apache-2.0
// nccl-env nodes: its columns and forms. Sources and exit codes: doctor_test.cc.
#include <gmock/gmock.h>

#include "cli/fleet.h"

namespace nccl_env::nodes_test {
namespace {

using namespace nccl_env::testing;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Nodes : public Fleet {};

TEST_F(Nodes, IsOneLineEachInNaturalOrderWithin80Columns) {
  write_fleet(100);
  EXPECT_EQ(run("nodes").out,
            "  NODE    HCAS      GID  GB/S         AGE  FINDINGS\n"
            "  gpu-1   mlx5_1-4  3    4x200        60m\n"
            "  gpu-2   mlx5_1-4  3    4x200        60m\n"
            "! gpu-10  mlx5_1-4  3    3x200+1x100  60m  RateLow mlx5_3\n");
}

TEST_F(Nodes, LongNamesAreCutInTheTableAndWholeInWide) {
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
TEST_F(Nodes, NamesThatAreCutStayApart) {
  write("fleet/z.yaml", node_yaml("gke-training-a100-pool-1-7f3c", 98) +
                            node_yaml("gke-training-a100-pool-1-9b0d", 99) +
                            node_yaml("ip-10-0-3-7.eu-central-1.compute.internal", 97));
  EXPECT_THAT(run("nodes").out,
              AllOf(HasSubstr("  gke-train..ol-1-7f3c  "), HasSubstr("  gke-train..ol-1-9b0d  "),
                    HasSubstr("  ip-10-0-3-7.eu-cen..  ")));
}

TEST_F(Nodes, AsJson) {
  write_fleet(100);
  const Json json = Json::parse(run("nodes", {"-o", "json"}).out);
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0]["gidIndex"], 3);
  EXPECT_EQ(json[0]["ageSeconds"], 3600);
  EXPECT_EQ(json[0]["hcaList"], "=mlx5_1,mlx5_2,mlx5_3,mlx5_4");
  EXPECT_THAT(json[0]["findings"], IsEmpty());
  EXPECT_EQ(json[2]["findings"][0]["check"], "RateLow");
}

}  // namespace
}  // namespace nccl_env::nodes_test
