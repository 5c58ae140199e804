// SPDX-License-Identifier: Apache-2.0
// nccl-env nodes: its columns and forms. Sources and exit codes: doctor_test.cc.
#include <gmock/gmock.h>

#include "cli/fleet.h"
#include "support/golden.h"

namespace nccl_env::nodes_test {
namespace {

using namespace nccl_env::tests;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Nodes : public Fleet {};

TEST_F(Nodes, IsOneLineEachTheOddFirstAndThenInNaturalOrder) {
  write_fleet(100);
  expect_shown(run("nodes"));
}

TEST_F(Nodes, FindingsOfOneCheckAreOne) {
  std::string down = node_yaml("gpu-10", 10);
  for (std::size_t at = 0; (at = down.find("Active", at)) != std::string::npos;) down.replace(at, 6, "Down");
  write("fleet/a.yaml", node_yaml("gpu-1", 1) + node_yaml("gpu-2", 2) + down);
  expect_shown(run("nodes"));
  expect_shown(run("nodes", {"-o", "wide"}));
  expect_shown(run("doctor"), 1);
}

class NodesOnATerminal : public Nodes {
 protected:
  [[nodiscard]] std::string shown(std::size_t width, const std::string& form = "text") const {
    return run_cli({"nodes", "--store", "dir:" + path("fleet"), "--at", "2026-11-20T08:00:00Z", "-o", form},
                   "", width)
        .out;
  }
};

TEST_F(NodesOnATerminal, LongCellsAreCutToItsWidthAndWholeInWideAndInAPipe) {
  const std::string name = "ip-10-123-123-123.ap-southeast-1.compute.internal";
  write("fleet/z.yaml", node_yaml(name, 99, 100));
  for (const std::size_t width : {1U, 40U, 80U, 200U}) {
    std::istringstream lines(shown(width));
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count)
      EXPECT_LE(line.size(), std::max<std::size_t>(width, 80)) << line;
    EXPECT_EQ(count, 6u);
  }
  EXPECT_THAT(shown(80), Not(HasSubstr(name)));
  for (const std::string& whole : {shown(0), shown(80, "wide"), shown(240)})
    EXPECT_THAT(whole, AllOf(HasSubstr(name), HasSubstr("RateLow mlx5_3")));
  expect_golden("-o wide", shown(0, "wide"));
}

// Pools of one cluster have long names that begin alike.
TEST_F(NodesOnATerminal, NamesThatAreCutStayApart) {
  write("fleet/z.yaml", node_yaml("gke-training-a100-pool-1-7f3c", 98) +
                            node_yaml("gke-training-a100-pool-1-9b0d", 99) +
                            node_yaml("ip-10-0-3-7.eu-central-1.compute.internal", 97));
  expect_golden("80 columns", shown(80));
}

TEST_F(Nodes, AMomentIsATimeADateNowOrSoLongAgo) {
  for (const char* at : {"--at=2026-11-20T08:00:00Z", "--at=2026-11-20", "--at=now", "--at=-2h"})
    EXPECT_EQ(run_cli({"nodes", table, at}).code, 0) << at;
  for (const char* at : {"--at=2026-11-31", "--at=-2", "--at=-", "--at=yesterday"})
    EXPECT_EQ(run_cli({"nodes", table, at}).code, 2) << at;
}

TEST_F(Nodes, AMomentIsRefusedInTheWordsOfItsUser) {
  expect_shown(run_cli({"nodes", "--at", "yesterday0", table}), 2);  // as long as a date
}

TEST_F(Nodes, ATableFromTheFutureHasNoAge) {
  EXPECT_THAT(run("nodes", {"--at", "2026-11-20T06:00:00Z"}).out, HasSubstr("  -60m  StaleTable"));
}

TEST_F(Nodes, AsJson) {
  write_fleet(100);
  const Json json = Json::parse(run("nodes", {"-o", "json"}).out);
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0]["gidIndex"], 3);
  EXPECT_EQ(json[0]["ageSeconds"], 3600);
  EXPECT_EQ(json[0]["hcaList"], "=mlx5_1,mlx5_2,mlx5_3,mlx5_4");
  EXPECT_THAT(json[0]["findings"], IsEmpty());
  EXPECT_EQ(json[2]["findings"][0]["code"], "RateLow");
}

}  // namespace
}  // namespace nccl_env::nodes_test
