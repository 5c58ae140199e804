// SPDX-License-Identifier: Apache-2.0
// nccl-env table show: forms of output, exit codes.
#include <gmock/gmock.h>

#include "cli/cli_inputs.h"

namespace nccl_env::show_test {
namespace {

using namespace nccl_env::tests;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TableShow : public Cli {};

TEST_F(TableShow, TellsWhyOfEachPortAndRow) {
  const CliResult result = run_cli({"table", "show", table});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              HasSubstr("mlx5_0 port 1: fabric\n  Active, Ethernet, RoCE, 200 Gb/s, netdev eth1\n"));
  EXPECT_THAT(result.out, HasSubstr("eth1    no: link-local\n"));
  EXPECT_THAT(result.out, HasSubstr("25.11.128.2  eth1    yes\n"));
  EXPECT_THAT(result.out, HasSubstr("  NCCL_IB_HCA        =mlx5_0\n  NCCL_IB_GID_INDEX  3\n"));
}

TEST_F(TableShow, AppliesThePolicysConditions) {
  const std::string strict = write("strict.yaml", kPolicy + "  fabric: {hcas: [mlx5_7]}\n");
  const CliResult text = run_cli({"table", "show", "--policy", strict, table});
  EXPECT_THAT(text.out, HasSubstr("not fabric, not known to match what the policy names"));
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
  const CliResult result = run_cli({"table", "show", "--policy", by_labels, labelled});
  EXPECT_THAT(result.out, HasSubstr("\nlabels: zone=b, tier is not there\n"));
  EXPECT_THAT(result.out, HasSubstr("variants[1]: label zone \"b\"; not variants[0]: it has no\n"));
  EXPECT_THAT(result.out, HasSubstr("ConditionUnknown: "));
  EXPECT_EQ(Json::parse(run_cli({"table", "show", "-o", "json", labelled}).out)["nodeLabels"],
            Json::parse(R"([{"key": "zone", "value": "b"}, {"key": "tier"}])"));
}

TEST_F(TableShow, AStateStandsOnce) {
  const std::string since = "stateSince: \"2026-11-20T07:00:00Z\"";
  const std::string down = write("down.yaml", named(kTable, "state: Active", "state: Down\n    " + since));
  EXPECT_THAT(run_cli({"table", "show", down}).out,
              HasSubstr("fabric, but not listed: Down, since 2026-11-20T07:00:00Z\n  Ethernet, RoCE, "));
}

TEST_F(TableShow, ATableWithoutPortsIsCode3) {
  const std::string empty =
      write("empty.yaml", named(kTable, kTable.substr(kTable.find("  ports:")), "  ports: []\n"));
  const CliResult shown = run_cli({"table", "show", empty});
  EXPECT_EQ(shown.code, 3);
  EXPECT_THAT(shown.out, Not(HasSubstr("NCCL_IB_HCA")));
  EXPECT_EQ(run_cli({"nccl", "select", "--table", empty}).code, 3);
}

TEST_F(TableShow, APastedListingIsNotATableAndTheImportIsNamed) {
  const CliResult result = run_cli({"table", "show", write("gids.txt", kListing)});
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, HasSubstr("nccl-env table import "));
}

TEST_F(TableShow, AFileOfAnotherKindIsNamedAndABrokenOneIsNotTakenForAListing) {
  EXPECT_EQ(run_cli({"table", "show", policy}).err,
            "nccl-env: " + policy + ": holds NcclPolicy p, and no NodeFabric\n");
  const CliResult broken = run_cli({"table", "show", write("broken.yaml", "a: [1,\n")});
  EXPECT_EQ(broken.code, 4);
  EXPECT_THAT(broken.err, AllOf(HasSubstr("broken.yaml:2:1: "), Not(HasSubstr("table import"))));
}

}  // namespace
}  // namespace nccl_env::show_test
