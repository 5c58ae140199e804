// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "cli/fleet.h"

namespace nccl_env::table_diff_test {
namespace {

using namespace nccl_env::tests;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class TableDiff : public Fleet {
 protected:
  [[nodiscard]] CliResult diff(const std::string& then, const std::string& now,
                               std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"table", "diff", write("then.yaml", then), write("now.yaml", now)});
    more.insert(more.end(), {"--at", "2026-11-20T08:00:00Z"});
    return run_cli(more);
  }
  // Its first rail is down since seven o'clock.
  [[nodiscard]] static std::string lame(const std::string& node) {
    return named(node, "state: Active", "state: Down, stateSince: \"2026-11-20T07:00:00Z\"");
  }
};

TEST_F(TableDiff, NodesAndStatesAreToldInGroups) {
  const std::string one = node_yaml("gpu-1", 1), two = node_yaml("gpu-2", 2), three = node_yaml("gpu-3", 3),
                    four = node_yaml("gpu-4", 4);
  const CliResult result = diff(one + two + three, lame(one) + lame(two) + four, {"--policy", policy});
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_EQ(result.out,
            "2 of 2 nodes differ, 1 came, 1 went; values of p change on 2 of 2 nodes\n"
            "came: gpu-4\n"
            "went: gpu-3\n"
            "\n"
            "2 nodes: gpu-1, gpu-2\n"
            "    mlx5_1  state: Active -> Down\n"
            "\n"
            "values of p\n"
            "\n"
            "2 nodes: gpu-1, gpu-2\n"
            "    Host, SubInterface  NCCL_IB_HCA: =mlx5_1,mlx5_2,mlx5_3,mlx5_4 -> =mlx5_2,\n"
            "                        mlx5_3,mlx5_4\n");
}

TEST_F(TableDiff, APortThatIsBackMakesNoDifference) {
  const std::string before = node_yaml("gpu-1", 1), down = lame(before),
                    back =
                        named(before, "state: Active", "state: Active, stateSince: \"2026-11-20T07:30:00Z\"");
  EXPECT_EQ(diff(before, down, {"--policy", policy}).code, 1);
  EXPECT_EQ(diff(down, back, {"--policy", policy}).code, 1);
  const CliResult none = diff(before, back, {"--policy", policy});
  EXPECT_EQ(none.code, 0) << none.out;
  EXPECT_EQ(none.out, "0 of 1 node differ; values of p change on 0 of 1 node\n");
}

TEST_F(TableDiff, DocumentsAreForPrograms) {
  const std::string node = node_yaml("gpu-1", 1);
  const Json json = Json::parse(diff(node, lame(node), {"-o", "json"}).out);
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["nodes"]["changed"], 1);
  EXPECT_EQ(json["nodes"]["groups"][0]["changes"][0]["then"], "Active");
  EXPECT_FALSE(json.contains("values"));
  EXPECT_EQ(Json::parse(diff(node, node, {"-o", "json", "--policy", policy}).out)["values"]["compared"], 1);
}

TEST_F(TableDiff, ADirectoryIsASetOfTables) {
  write("fleet/b.yaml", node_yaml("gpu-11", 11));
  const CliResult result = run_cli({"table", "diff", path("fleet/a.yaml"), path("fleet")});
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("0 of 3 nodes differ, 1 came\n"), HasSubstr("came: gpu-11\n")));
  write("fleet/c.yaml", node_yaml("gpu-11", 11));
  const CliResult twice = run_cli({"table", "diff", path("fleet/a.yaml"), path("fleet")});
  EXPECT_EQ(twice.code, 4);
  EXPECT_THAT(twice.err, HasSubstr("NodeFabric gpu-11 is given twice"));
}

TEST_F(TableDiff, EachEndHasItsCode) {
  const std::string bare =
      "apiVersion: nccl-env.io/v1alpha1\nkind: NodeFabric\nmetadata: {name: a}\nobserved: {ports: []}\n";
  const CliResult nothing = diff(bare, bare);
  EXPECT_EQ(nothing.code, 3);
  EXPECT_THAT(nothing.err, HasSubstr("the tables hold no port"));
  EXPECT_EQ(run_cli({"table", "diff", table}).code, 2);
  EXPECT_EQ(run_cli({"table", "diff", table, table, table}).code, 2);
  EXPECT_EQ(run_cli({"table", "diff", table, path("absent")}).code, 4);
  EXPECT_EQ(run_cli({"table", "diff", table, policy}).code, 4);
  std::filesystem::create_directories(path("empty"));
  EXPECT_EQ(run_cli({"table", "diff", table, path("empty")}).code, 4);
}

}  // namespace
}  // namespace nccl_env::table_diff_test
