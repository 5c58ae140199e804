// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/doctor/report.h"

#include <nlohmann/json.hpp>

#include "judge/doctor/fleet.h"

namespace nccl_env::report_test {
namespace {

using namespace nccl_env::tests;
using Json = nlohmann::json;

std::string page_of(const Fleet& fleet, const std::vector<NcclPolicy>& policies = {}) {
  const DoctorInput input = input_of(fleet, policies);
  return to_page_json(input, nccl_env::diagnose(input), "prod", "0.1.0");
}

// The data as the page's script reads it: records with the names of their fields, texts in place of numbers.
struct Page {
  explicit Page(const Fleet& fleet, const std::vector<NcclPolicy>& policies = {})
      : json(Json::parse(page_of(fleet, policies))) {
    for (const Json& list : json["nodes"]) nodes.push_back(record("node", list));
  }

  [[nodiscard]] Json record(const std::string& kind, const Json& list) const {
    Json made = Json::object();
    const Json& names = json["fields"][kind];
    EXPECT_EQ(list.size(), names.size()) << kind;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string name = names[i];
      const bool text = name.starts_with('$') && !list[i].is_null();
      made[name.substr(name.starts_with('$') ? 1 : 0)] =
          text ? json["strings"].at(list[i].get<std::size_t>()) : list[i];
    }
    return made;
  }
  [[nodiscard]] Json node(const std::string& name) const {
    return *std::ranges::find_if(nodes, [&](const Json& node) { return node["name"] == name; });
  }
  [[nodiscard]] Json port(const std::string& name, const std::string& hca) const {
    const Json ports = node(name)["ports"];
    for (const Json& list : ports) {
      const Json port = record("port", list);
      if (port["name"] == hca) return port;
    }
    return {};
  }

  Json json;
  std::vector<Json> nodes;
};

Port& port_of(Fleet& fleet, std::size_t node, const std::string& hca) {
  return *std::ranges::find(fleet[node].ports, hca, &Port::hca);
}

TEST(FabricReport, OddNodesComeFirstBySeverityThenByName) {
  Fleet fleet = fleet_of(12, roce_node);
  port_of(fleet, 10, "mlx5_3").state = PortState::Down;  // an error
  port_of(fleet, 9, "mlx5_3").state = PortState::Down;
  port_of(fleet, 2, "mlx5_4").rate_gbps = 100;  // a warning
  const Page page(fleet);
  std::vector<std::string> names;
  for (const Json& node : page.nodes) names.push_back(node["name"]);
  EXPECT_THAT(names, ElementsAre("gpu-9", "gpu-10", "gpu-2", "gpu-0", "gpu-1", "gpu-3", "gpu-4", "gpu-5",
                                 "gpu-6", "gpu-7", "gpu-8", "gpu-11"));
  EXPECT_EQ(page.node("gpu-10")["severity"], 0);
  EXPECT_EQ(page.node("gpu-0")["severity"], nullptr);
  EXPECT_EQ(page.port("gpu-10", "mlx5_3")["severity"], 0);
  EXPECT_EQ(page.port("gpu-10", "mlx5_4")["severity"], nullptr);
  EXPECT_EQ(page.port("gpu-2", "mlx5_4")["severity"], 1);
}

// Names after MAC addresses are those of one node each.
TEST(FabricReport, APoolHasItsOwnRailsAndSaysWhetherItsNodesShareNames) {
  Fleet fleet = fleet_of(5, roce_node);
  for (const NodeFabric& node : fleet_of(3, lag_node)) {
    fleet.push_back(node);
    fleet.back().name += "-lag";
  }
  for (std::size_t i = 0; i < 5; ++i) {
    for (Port& port : fleet[i].ports) port.hca = "rocex" + std::to_string(i) + port.hca;
  }
  const Page page(fleet);
  const Json first = page.record("pool", page.json["pools"][0]);
  EXPECT_EQ(first["byName"], false);
  EXPECT_EQ(first["rails"].size(), 9u);
  const Json second = page.record("pool", page.json["pools"][1]);
  EXPECT_EQ(second["byName"], true);
  EXPECT_EQ(page.record("rail", second["rails"][0])["name"], "mlx5_bond_0");
}

TEST(FabricReport, AMissingPortLeavesItsPlace) {
  Fleet fleet = fleet_of(5, roce_node);
  std::erase_if(fleet[2].ports, [](const Port& port) { return port.hca == "mlx5_4"; });
  const Page page(fleet);
  EXPECT_EQ(page.node("gpu-2")["rails"], Json({7, 0, 1, 2, -1, 3, 4, 5, 6}));
}

TEST(FabricReport, TheIndexOfAPort) {
  Fleet fleet = fleet_of(4, roce_node);
  port_of(fleet, 1, "mlx5_2").gids->resize(2);  // link-local rows alone
  port_of(fleet, 1, "mlx5_3").state = PortState::Down;
  port_of(fleet, 1, "mlx5_4").gids.reset();
  port_of(fleet, 1, "mlx5_5").gids->back().index = 7;
  const Page page(fleet);
  const auto gid_of = [&](const char* hca) { return page.port("gpu-1", hca)["gid"]; };
  EXPECT_EQ(gid_of("mlx5_1"), "index");
  EXPECT_EQ(page.port("gpu-1", "mlx5_1")["gidIndex"], 3);
  EXPECT_EQ(gid_of("mlx5_2"), "noUsableRow");
  EXPECT_EQ(gid_of("mlx5_3"), "portDown");
  EXPECT_EQ(page.port("gpu-1", "mlx5_3")["gidIndex"], nullptr);
  EXPECT_EQ(gid_of("mlx5_4"), "rowsUnknown");
  EXPECT_EQ(page.port("gpu-1", "mlx5_5")["gidIndex"], 7);
  EXPECT_EQ(Page(fleet_of(3, ib_node)).port("gpu-0", "mlx5_0")["gid"], "notRoCE");
}

// A port that is not given is not fabric: ports that look alike were marked as such.
TEST(FabricReport, NoPortIsFabricWhereThereIsAReason) {
  Fleet fleet = fleet_of(1, roce_node);
  fleet[0].node_interface.reset();
  for (Port& port : fleet[0].ports) port.board_id = "B", port.rate_gbps = 200;
  const Page page(fleet);
  EXPECT_EQ(page.node("gpu-0")["reason"], "AmbiguousFabric");
  const Json ports = page.node("gpu-0")["ports"];
  for (const Json& list : ports) {
    EXPECT_EQ(page.record("port", list)["fabric"], false);
    EXPECT_THAT(page.record("port", list)["why"].get<std::string>(), HasSubstr("AmbiguousFabric: "));
  }
}

TEST(FabricReport, AnyPolicyThatTakesAPortMakesItFabric) {
  NcclPolicy first = policy_for("rdma/a"), second = policy_for("rdma/b");
  first.fabric.hcas = {"mlx5_1"};
  second.fabric.hcas = {"mlx5_2"};
  const Page page(fleet_of(3, roce_node), {first, second});
  EXPECT_EQ(page.json["policies"].size(), 2u);
  EXPECT_EQ(page.port("gpu-0", "mlx5_1")["fabric"], true);
  EXPECT_EQ(page.port("gpu-0", "mlx5_2")["fabric"], true);
  EXPECT_EQ(page.port("gpu-0", "mlx5_3")["fabric"], false);
  EXPECT_NE(page.port("gpu-0", "mlx5_3")["why"], "");
}

TEST(FabricReport, TextsStandOnceAndRecordsHaveTheFieldsThatAreNamed) {
  Fleet fleet = fleet_of(3, roce_node);
  port_of(fleet, 1, "mlx5_3").state = PortState::Down;
  const Page page(fleet);
  std::vector<std::string> strings = page.json["strings"];
  std::ranges::sort(strings);
  EXPECT_EQ(std::ranges::adjacent_find(strings), strings.end());
  EXPECT_EQ(page.port("gpu-1", "mlx5_3")["state"], "Down");
  const Json row = page.record("row", page.port("gpu-1", "mlx5_2")["rows"][3]);
  EXPECT_EQ(row["index"], 3);
  EXPECT_EQ(row["address"], "10.2.0.2");
  EXPECT_EQ(row["usable"], true);
  EXPECT_EQ(page.record("row", page.port("gpu-1", "mlx5_2")["rows"][0])["why"], "link-local");
  EXPECT_EQ(page.record("interface", page.node("gpu-1")["interfaces"][0])["addresses"], "10.1.0.2/16");
  const Json finding = page.record("finding", page.json["findings"][0]);
  EXPECT_EQ(finding["meaning"], words_of(Code::PortDown).meaning);
  EXPECT_EQ(finding["remedy"], words_of(Code::PortDown).remedy);
}

TEST(FabricReport, NoNameEndsTheScriptThatHoldsIt) {
  const std::string hostile = "</script><img src=x onerror=alert(1)><!--\xff\u2028\"\\";
  Fleet fleet = fleet_of(3, roce_node);
  fleet[0].name = hostile;
  fleet[1].ports[0].hca = hostile;
  fleet[1].ports[1].driver = hostile;
  fleet[1].interfaces->front().name = hostile;
  fleet[2].node_interface = hostile;
  fleet[2].agent_version = hostile;
  NcclPolicy policy = policy_for("rdma/a");
  policy.name = hostile;
  const std::string text = page_of(fleet, {policy});
  EXPECT_THAT(text, Not(HasSubstr("<")));
  for (const char c : text) ASSERT_TRUE(c >= ' ' && c <= '~');
  // The byte that is no UTF-8 becomes U+FFFD; all else comes back as it was.
  const std::string kept = "</script><img src=x onerror=alert(1)><!--\xef\xbf\xbd\u2028\"\\";
  const Json json = Json::parse(text);
  EXPECT_EQ(json["policies"][0], kept);
  const auto& strings = json["strings"];
  EXPECT_NE(std::find(strings.begin(), strings.end(), kept), strings.end());
}

}  // namespace
}  // namespace nccl_env::report_test
