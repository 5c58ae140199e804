// SPDX-License-Identifier: Apache-2.0
// nccl-env nodes: its columns and forms; of one node what is found on it, its table, and what NCCL takes
// there by itself. Sources and exit codes: doctor_test.cc.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/fleet.h"
#include "support/golden.h"

namespace nccl_env::nodes_test {
namespace {

using namespace nccl_env::tests;

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
  // Pools of one cluster have long names that begin alike: those that are cut stay apart.
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
  expect_shown(run_cli({"nodes", "--at", "yesterday0", table}), 2);  // as long as a date
  EXPECT_THAT(run("nodes", {"--at", "2026-11-20T06:00:00Z"}).out, HasSubstr("  -60m  StaleTable"));
}

TEST_F(Nodes, AsJson) {
  write_fleet(100);
  const Json json = Json::parse(run("nodes", {"-o", "json"}).out);
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0]["gidIndex"], Json()) << "NCCL finds it, so no policy gives one unless it says so";
  EXPECT_EQ(json[0]["ageSeconds"], 3600);
  EXPECT_EQ(json[0]["hcaList"], "=mlx5_1,mlx5_2,mlx5_3,mlx5_4");
  EXPECT_THAT(json[0]["findings"], IsEmpty());
  EXPECT_EQ(json[2]["findings"][0]["code"], "RateLow");
  for (const auto& [rule, cell] : {std::pair("Pin", "  3 "), {"7", "  7 "}, {"Auto", "  auto "}}) {
    write("fleet/p.yaml", named(kPolicy, "gidIndex: Pin", "gidIndex: " + std::string(rule)));
    EXPECT_THAT(run("nodes").out, HasSubstr("mlx5_1-4" + std::string(cell))) << rule;
  }
}

TEST_F(Nodes, WhatTheDoctorFoundComesFirstThenTheTableAndNcclsChoice) {
  EXPECT_EQ(run("nodes", {"gpu-1"}).code, 0);
  EXPECT_THAT(run("nodes", {"gpu-1"}).out, StartsWith("gpu-1: no findings\n"));
  write_fleet(100);
  expect_shown(run("nodes", {"gpu-10"}), 1);
  EXPECT_EQ(run("nodes", {"gpu-1"}).code, 0) << "the fault is another node's";
  const Json json = Json::parse(run("nodes", {"gpu-10", "-o", "json"}).out);
  EXPECT_EQ(json["good"], false);
  EXPECT_EQ(json["findings"][0]["code"], "RateLow");
  EXPECT_EQ(json["table"]["ports"].size(), 4u);
  EXPECT_EQ(json["ncclAlone"]["hcas"].size(), 4u);
}

TEST_F(Nodes, ThatIsNotThereIsCode3WithItsNearNameAndAFileIsNoName) {
  expect_shown(run("nodes", {"gpu-l"}), 3);
  EXPECT_EQ(run_cli({"nodes", path("absent.yaml")}).code, 4);
  EXPECT_THAT(run_cli({"nodes", write("gpu-5", kTable)}).out, HasSubstr("1 node, "));
}

TEST_F(Nodes, ThePolicysConditionsAreAppliedToItsTable) {
  const std::string strict = write("strict.yaml", kPolicy + "  fabric: {hcas: [mlx5_7]}\n");
  const Json json =
      Json::parse(run_cli({"nodes", "gpu-1", table, "--policy", strict, "-o", "json"}).out)["table"];
  EXPECT_EQ(json["ports"][0]["fabric"], false);
  EXPECT_EQ(json["ports"][0]["gids"][0]["usable"], false);
  EXPECT_EQ(json["omitted"][0]["reason"], "NoFabricPort");
}

TEST_F(Nodes, ItsLabelsAndWhatAPolicyMakesOfThemAreTold) {
  const std::string labelled =
      write("labelled.yaml",
            named(kTable, "  ports:", "  nodeLabels: [{key: zone, value: b}, {key: tier}]\n  ports:"));
  const std::string by_labels = write("labels.yaml", kPolicy + R"(  variants:
  - {when: {nodeLabels: {tier: a}}, env: {NCCL_IB_SL: "1"}}
  - {when: {nodeLabels: {zone: "[ab]"}}, env: {NCCL_IB_SL: "2"}}
  - {when: {nodeLabels: {shape: "*"}}, env: {NCCL_IB_TC: "96"}}
)");
  expect_shown(run_cli({"nodes", "gpu-1", labelled, "--policy", by_labels}));
}

TEST_F(Nodes, TheGidOfInfiniBandIsUsableThoughLinkLocal) {
  std::string text = named(kTable, "linkLayer: Ethernet\n    transport: RoCE", "linkLayer: InfiniBand");
  text = named(text.substr(0, text.find("    - {index: 3")), "RoCEv2, netdev: eth1", "IB");
  const Json json = Json::parse(run_cli({"nodes", "gpu-1", write("ib.yaml", text), "-o", "json"}).out);
  EXPECT_EQ(json["table"]["ports"][0]["gids"][0]["usable"], true);
}

TEST_F(Nodes, AFileOfAnotherKindIsNamedAndABrokenOneIsNotTakenForAListing) {
  for (const std::string& other : {write("gids.txt", kListing), policy})
    expect_shown(run_cli({"nodes", "gpu-1", other}), 4);
  const CliResult broken = run_cli({"nodes", "gpu-1", write("broken.yaml", "a: [1,\n")});
  EXPECT_EQ(broken.code, 4);
  EXPECT_THAT(broken.err, Not(HasSubstr("listing")));
}

class NcclOnANode : public Cli {
 protected:
  [[nodiscard]] CliResult on_node(std::vector<std::string> more) const {
    more.insert(more.begin(), {"nodes", "gpu-1", table});
    return run_cli(more);
  }
  [[nodiscard]] Json choice(std::vector<std::string> more) const {
    more.insert(more.end(), {"-o", "json"});
    return Json::parse(on_node(std::move(more)).out)["ncclAlone"];
  }
};

TEST_F(NcclOnANode, IsThatOfTheVersionAndEnvironment) {
  EXPECT_EQ(choice({"--nccl-version", "2.21.5"})["hcas"], Json({"mlx5_0:1"}));
  EXPECT_EQ(choice({"--nccl-version", "2.21.5"})["gidIndex"], Json({{"mlx5_0:1", 3}}));
  EXPECT_THAT(choice({"--env", "NCCL_IB_HCA=^=mlx5_0", "--env", "NCCL_DEBUG=INFO"})["hcas"], IsEmpty());
  EXPECT_THAT(on_node({"--nccl-version", "2.18.3"}).out,
              HasSubstr("NCCL 2.18.3 alone\n  HCAs        mlx5_0:1\n"));
  EXPECT_THAT(on_node({}).out, HasSubstr(" alone (assumed: --nccl-version)\n"));
}

TEST_F(NcclOnANode, WhatIsNotKnownIsNotShownAsGood) {
  std::string text = kTable;
  text.erase(text.find("    state: Active\n"), 18);
  EXPECT_THAT(run_cli({"nodes", "gpu-1", write("gpu-1.yaml", text)}).out,
              StartsWith("gpu-1: no findings (state not known for 1 of 1 fabric port)\n"));
}

TEST_F(NcclOnANode, RemarksStandOnVariablesAndValuesThatNcclTakesForOthers) {
  const CliResult result = on_node({"--env", "NCCL_IB_HCAA=mlx5", "--env", "NCCL_IB_RETRY_CNT=10", "--env",
                                    "NCCL_DEBUG=INFO", "--env", "NCCL_IB_HCA="});
  EXPECT_THAT(result.err, StartsWith("nccl-env: --env NCCL_IB_HCAA is not a variable of NCCL's: "
                                     "do you mean NCCL_IB_HCA?\nnccl-env: --env NCCL_IB_RETRY_CNT: "));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 2) << result.err;
}

}  // namespace
}  // namespace nccl_env::nodes_test
