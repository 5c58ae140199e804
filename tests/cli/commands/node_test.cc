// SPDX-License-Identifier: Apache-2.0
// nccl-env nodes NAME: what is found on a node, its table, and what NCCL takes there by itself.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/fleet.h"

namespace nccl_env::node_test {
namespace {

using namespace nccl_env::tests;
using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class Node : public Fleet {};

TEST_F(Node, WhatTheDoctorFoundComesFirstThenTheTableAndNcclsChoice) {
  EXPECT_EQ(run("nodes", {"gpu-1"}).code, 0);
  EXPECT_THAT(run("nodes", {"gpu-1"}).out, StartsWith("gpu-1: nothing found\n"));
  write_fleet(100);
  expect_shown(run("nodes", {"gpu-10"}), 1);
  EXPECT_EQ(run("nodes", {"gpu-1"}).code, 0) << "the fault is another node's";
  const Json json = Json::parse(run("nodes", {"gpu-10", "-o", "json"}).out);
  EXPECT_EQ(json["good"], false);
  EXPECT_EQ(json["findings"][0]["code"], "RateLow");
  EXPECT_EQ(json["table"]["ports"].size(), 4u);
  EXPECT_EQ(json["ncclAlone"]["hcas"].size(), 4u);
}

TEST_F(Node, ThatIsNotThereIsCode3WithItsNearName) {
  const CliResult result = run("nodes", {"gpu-l"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("there is no NodeFabric gpu-l: do you mean gpu-1?"));
}

TEST_F(Node, AFileIsNoName) {
  EXPECT_EQ(run_cli({"nodes", path("absent.yaml")}).code, 4);
  EXPECT_THAT(run_cli({"nodes", write("gpu-5", kTable)}).out, HasSubstr("1 node, "));
}

TEST_F(Node, ThePolicysConditionsAreAppliedToItsTable) {
  const std::string strict = write("strict.yaml", kPolicy + "  fabric: {hcas: [mlx5_7]}\n");
  const Json json =
      Json::parse(run_cli({"nodes", "gpu-1", table, "--policy", strict, "-o", "json"}).out)["table"];
  EXPECT_EQ(json["ports"][0]["fabric"], false);
  EXPECT_EQ(json["ports"][0]["gids"][0]["usable"], false);
  EXPECT_EQ(json["omitted"][0]["reason"], "NoFabricPort");
}

TEST_F(Node, ItsLabelsAndWhatAPolicyMakesOfThemAreTold) {
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

TEST_F(Node, TheGidOfInfiniBandIsUsableThoughLinkLocal) {
  std::string text = named(kTable, "linkLayer: Ethernet\n    transport: RoCE", "linkLayer: InfiniBand");
  text = named(text.substr(0, text.find("    - {index: 3")), "RoCEv2, netdev: eth1", "IB");
  const Json json = Json::parse(run_cli({"nodes", "gpu-1", write("ib.yaml", text), "-o", "json"}).out);
  EXPECT_EQ(json["table"]["ports"][0]["gids"][0]["usable"], true);
}

TEST_F(Node, AFileOfAnotherKindIsNamedAndABrokenOneIsNotTakenForAListing) {
  for (const std::string& other : {write("gids.txt", kListing), policy})
    expect_shown(run_cli({"nodes", "gpu-1", other}), 4);
  const CliResult broken = run_cli({"nodes", "gpu-1", write("broken.yaml", "a: [1,\n")});
  EXPECT_EQ(broken.code, 4);
  EXPECT_THAT(broken.err, testing::Not(HasSubstr("listing")));
}

class NcclOnANode : public Cli {
 protected:
  [[nodiscard]] CliResult on_node(std::vector<std::string> more) const {
    std::vector<std::string> arguments{"nodes", "gpu-1", table};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_cli(arguments);
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
              StartsWith("gpu-1: nothing found (state not known for 1 of 1 fabric port)\n"));
}

TEST_F(NcclOnANode, RemarksStandOnVariablesAndValuesThatNcclTakesForOthers) {
  const CliResult result = on_node({"--env", "NCCL_IB_HCAA=mlx5", "--env", "NCCL_IB_RETRY_CNT=10", "--env",
                                    "NCCL_DEBUG=INFO", "--env", "NCCL_IB_HCA="});
  EXPECT_THAT(result.err, StartsWith("nccl-env: --env NCCL_IB_HCAA is not a variable of NCCL's: "
                                     "do you mean NCCL_IB_HCA?\nnccl-env: --env NCCL_IB_RETRY_CNT: "));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 2) << result.err;
}

}  // namespace
}  // namespace nccl_env::node_test
