// SPDX-License-Identifier: Apache-2.0
// nccl-env table show: forms of output, exit codes.
#include <gmock/gmock.h>

#include "cli/cli_inputs.h"

namespace nccl_env::show_test {
namespace {

using namespace nccl_env::tests;
using Json = nlohmann::json;

class TableShow : public Cli {};

TEST_F(TableShow, TellsWhyOfEachPortAndRow) {
  expect_shown(run_cli({"table", "show", table}));
}

TEST_F(TableShow, AppliesThePolicysConditions) {
  const std::string strict = write("strict.yaml", kPolicy + "  fabric: {hcas: [mlx5_7]}\n");
  expect_shown(run_cli({"table", "show", "--policy", strict, table}));
  const Json json = Json::parse(run_cli({"table", "show", "--policy", strict, "-o", "json", table}).out);
  EXPECT_EQ(json["ports"][0]["fabric"], false);
  EXPECT_EQ(json["ports"][0]["gids"][0]["usable"], false);
  EXPECT_EQ(json["omitted"][0]["reason"], "NoFabricPort");
}

TEST_F(TableShow, TellsTheLabelsAndWhatAPolicyMakesOfThem) {
  const std::string labelled =
      write("labelled.yaml",
            named(kTable, "  ports:", "  nodeLabels: [{key: zone, value: b}, {key: tier}]\n  ports:"));
  const std::string by_labels = write("labels.yaml", kPolicy + R"(  variants:
  - {when: {nodeLabels: {tier: a}}, env: {NCCL_IB_SL: "1"}}
  - {when: {nodeLabels: {zone: "[ab]"}}, env: {NCCL_IB_SL: "2"}}
  - {when: {nodeLabels: {shape: "*"}}, env: {NCCL_IB_TC: "96"}}
)");
  expect_shown(run_cli({"table", "show", "--policy", by_labels, labelled}));
  EXPECT_EQ(Json::parse(run_cli({"table", "show", "-o", "json", labelled}).out)["nodeLabels"],
            Json::parse(R"([{"key": "zone", "value": "b"}, {"key": "tier"}])"));
}

TEST_F(TableShow, AStateStandsOnce) {
  const std::string since = "stateSince: \"2026-11-20T07:00:00Z\"";
  const std::string down = write("down.yaml", named(kTable, "state: Active", "state: Down\n    " + since));
  expect_shown(run_cli({"table", "show", down}));
}

TEST_F(TableShow, TheGidOfInfiniBandIsUsableThoughLinkLocal) {
  std::string text = named(kTable, "linkLayer: Ethernet\n    transport: RoCE", "linkLayer: InfiniBand");
  text = named(text.substr(0, text.find("    - {index: 3")), "RoCEv2, netdev: eth1", "IB");
  const Json json = Json::parse(run_cli({"table", "show", "-o", "json", write("ib.yaml", text)}).out);
  EXPECT_EQ(json["ports"][0]["gids"][0]["usable"], true);
}

TEST_F(TableShow, AnAgeThatAWebhookWouldNotTakeIsNoted) {
  for (const char* time : {"2020-01-01T00:00:00Z", "2199-01-01T00:00:00Z"}) {
    const std::string timed =
        write("timed.yaml", named(kTable, "observed:\n", "observed:\n  time: " + std::string(time) + "\n"));
    const CliResult shown = run_cli({"table", "show", timed});
    EXPECT_EQ(shown.code, 0);
    tests::expect_golden(time, shown.out.substr(shown.out.find("hostNetwork pods")));
  }
}

TEST_F(TableShow, ATableWithoutPortsIsCode3) {
  const std::string empty =
      write("empty.yaml", named(kTable, kTable.substr(kTable.find("  ports:")), "  ports: []\n"));
  expect_shown(run_cli({"table", "show", empty}), 3);
  EXPECT_EQ(run_cli({"node", "gpu-1", empty}).code, 3);
}

TEST_F(TableShow, AFileOfAnotherKindIsNamedAndABrokenOneIsNotTakenForAListing) {
  for (const std::string& other : {write("gids.txt", kListing), policy, write("broken.yaml", "a: [1,\n")})
    expect_shown(run_cli({"table", "show", other}), 4);
}

}  // namespace
}  // namespace nccl_env::show_test
