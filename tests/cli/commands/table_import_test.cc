// SPDX-License-Identifier: Apache-2.0
// A pasted listing of tests/data/tables, imported, decided for a hostNetwork pod. What the sources of a
// listing say stands in its `# expect` lines; these rows are what our rules make of it.
#include "cli/cli_inputs.h"
#include "nccl_env/base/file.h"

namespace nccl_env::import_test {
namespace {

using namespace nccl_env::tests;

struct Row {
  std::string name;
  std::string file;
  std::string node_interface;
  std::string hca;    // the value, or the reason
  std::string index;  // the value, or the reason
  std::string policy = "generic-rdma";
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

const std::string kRails = "=mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8",
                  kAzure = "=mlx5_ib0,mlx5_ib1,mlx5_ib2,mlx5_ib3,mlx5_ib4,mlx5_ib5,mlx5_ib6,mlx5_ib7",
                  kIonic = "=ionic_0,ionic_2,ionic_3,ionic_4,ionic_5,ionic_7,ionic_8,ionic_9",
                  kBonded = "=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9";

const std::vector<Row> kRows = {
    {"BaiduWithNodeInterface", "baidu-roce-a100.show_gids.txt", "eth0", kRails, "3"},
    {"BaiduWithout", "baidu-roce-a100.show_gids.txt", "", "AmbiguousFabric", "AmbiguousFabric"},
    {"BaiduOwnPolicy", "baidu-roce-a100.show_gids.txt", "", kRails, "3", "baidu-roce"},
    {"Erdma", "alibaba-erdma.ibv_devinfo.txt", "", "=rocep26s0", "GidTableUnknown"},
    {"TwoVendors", "two-vendors.show_gids.txt", "", "=hrn3_bond_0", "1"},
    {"MacvlanPod", "macvlan-pod.show_gids.txt", "", "=mlx5_0,mlx5_1", "7"},
    {"Azure", "azure-ib-h200.ibv_devinfo.txt", "", kAzure, "InfiniBand"},
    {"OciIonic", "oci-ionic.rdma_link.txt", "ens9np0", kIonic, "GidTableUnknown"},
    {"Mi300x", "mi300x-bond.rdma_link.txt", "bond0", kBonded, "GidTableUnknown"},
    {"SparkA", "spark-node-a.ibv_devinfo.txt", "", "=rocep1s0f1,roceP2p1s0f1", "GidTableUnknown"},
    {"SparkB", "spark-node-b.ibv_devinfo.txt", "", "=rocep1s0f0,roceP2p1s0f0", "GidTableUnknown"},
    {"Irdma", "irdma.ibv_devinfo-v.txt", "", "=irdma1", "1"},
};

// The value that the first container gets, or the reason why it gets none.
std::string outcome(const Json& explanation, const std::string& name) {
  const Json& container = explanation["containers"][0];
  for (const Json& line : container["file"]["lines"]) {
    if (line["name"] == name) return line["value"];
  }
  for (const Json& omission : container["omitted"]) {
    if (omission["name"] == name) return omission["reason"];
  }
  return "nothing";
}

class ExpectedTables : public CliTest, public ::testing::WithParamInterface<Row> {};

TEST_P(ExpectedTables, GiveWhatTheTableOfOutcomesSays) {
  const Row& row = GetParam();
  std::vector<std::string> import{"table", "import", source_file("tests/data/tables/" + row.file)};
  if (!row.node_interface.empty()) import.insert(import.end(), {"--node-interface", row.node_interface});
  const CliResult imported = run_cli(import);
  ASSERT_EQ(imported.code, 0) << imported.err;
  // An index is asked for, whether or not NCCL would find it.
  std::string policy = *read_file(source_file("policies/" + row.policy + ".yaml"), 1 << 20);
  if (policy.find("gidIndex: Auto") != policy.npos) policy = named(policy, "gidIndex: Auto", "gidIndex: Pin");
  const CliResult told =
      run_cli({"explain", "--policy", write("policy.yaml", policy), "--table",
               write("table.yaml", imported.out), "-f", write("pod.json", kPod), "-o", "json"});
  ASSERT_EQ(told.code, row.hca.starts_with("=") ? 0 : 1) << told.err;
  const Json explanation = Json::parse(told.out);
  EXPECT_EQ(outcome(explanation, "NCCL_IB_HCA"), row.hca);
  EXPECT_EQ(outcome(explanation, "NCCL_IB_GID_INDEX"), row.index);
}

INSTANTIATE_TEST_SUITE_P(Rows, ExpectedTables, ::testing::ValuesIn(kRows),
                         [](const auto& row) { return row.param.name; });

// A listing that is added to the data must get a row above.
TEST(ExpectedTablesImport, EveryListingHasARow) {
  for (const auto& entry : std::filesystem::directory_iterator(source_file("tests/data/tables"))) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".txt") || name.starts_with("mangled.")) continue;
    const auto is_it = [&](const Row& row) { return row.file == name; };
    EXPECT_TRUE(std::any_of(kRows.begin(), kRows.end(), is_it)) << name;
  }
}

class TableImport : public Cli {};

TEST_F(TableImport, IsNamedAfterItsFileAndNotedUpon) {
  EXPECT_THAT(run_cli({"table", "import", write("GPU_7.show_gids.txt", kListing)}).out,
              HasSubstr("  name: gpu-7\n"));
  const CliResult json =
      run_cli({"table", "import", "--node", "n", "-o", "json", "-"}, "$ show_gids\n" + kListing);
  EXPECT_EQ(Json::parse(json.out)["observed"]["ports"][0]["hca"], "mlx5_1");
  EXPECT_THAT(json.err, StartsWith("nccl-env: skipped 1 line that belongs to no listing\n"));
  const auto noted = [&](const std::string& netdev) {
    return run_cli({"table", "import", "--node", "n", "--node-interface", netdev, "-"}, kListing).err;
  };
  EXPECT_EQ(noted("zzz"),
            "nccl-env: no port of the listing has the netdev zzz: none is taken for the node's own\n");
  EXPECT_EQ(noted("eth1"), "");
}

TEST_F(TableImport, ARefusedNamesFileAndLineAndPrintsNoTable) {
  std::string rows;
  for (int i = 0; i < 36; ++i) rows += "mlx5_1\t1\t" + std::to_string(i) + "\tfe80::1\t\tv2\teth1\n";
  const std::string twice = write("twice.txt", rows + rows);
  const std::pair<std::string, std::string> files[] = {
      {source_file("tests/data/tables/mangled.show_gids.txt"), ":8: "},
      {write("n.txt", kListing + "mlx5_9\t1\t4\tnot-a-gid\t\tv2\teth1\n"), ":4: "},
      {twice, ":37: "}};
  for (const auto& [file, line] : files) {
    const CliResult result = run_cli({"table", "import", file});
    EXPECT_EQ(result.code, 1) << file;
    EXPECT_EQ(result.out, "") << file;
    EXPECT_THAT(result.err, StartsWith(file + line));
  }
  const std::string cut = run_cli({"table", "import", twice}).err;
  EXPECT_EQ(std::count(cut.begin(), cut.end(), '\n'), 11)
      << "problems of one cause are not all told: " << cut;
  EXPECT_THAT(cut, EndsWith("and 26 more\n"));
  const CliResult imported = run_cli({"table", "import", table});
  EXPECT_EQ(imported.code, 2);
  EXPECT_EQ(imported.err, "nccl-env: " + table + " is a NodeFabric already: nothing to import\n");
}

}  // namespace
}  // namespace nccl_env::import_test
