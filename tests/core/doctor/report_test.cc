// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/doctor/report.h"

#include <nlohmann/json.hpp>

#include "core/doctor/fleet.h"

namespace nccl_env::report_test {
namespace {

using namespace nccl_env::tests;
using Json = nlohmann::json;

// A report with all that it points into.
struct Whole {
  explicit Whole(const Fleet& fleet, const std::vector<NcclPolicy>& policies = {})
      : input(input_of(fleet, policies)),
        diagnosis(nccl_env::diagnose(input)),
        report(report_fabric(input, diagnosis)) {}

  [[nodiscard]] std::string text() const { return to_page_json(report, "0.1.0"); }
  [[nodiscard]] Json json() const { return Json::parse(text()); }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const NodeReport& node : report.nodes) names.push_back(node.state->node);
    return names;
  }
  [[nodiscard]] const NodeReport& node(const std::string& name) const {
    for (const NodeReport& node : report.nodes) {
      if (node.state->node == name) return node;
    }
    throw std::out_of_range(name);
  }
  [[nodiscard]] const PortReport& port(const std::string& name, const std::string& hca) const {
    for (const PortReport& port : node(name).ports) {
      if (port.name == hca) return port;
    }
    throw std::out_of_range(hca);
  }

  DoctorInput input;
  Diagnosis diagnosis;
  FabricReport report;
};

Port& port_of(Fleet& fleet, std::size_t node, const std::string& hca) {
  for (Port& port : fleet[node].ports) {
    if (port.hca == hca) return port;
  }
  throw std::out_of_range(hca);
}

TEST(FabricReport, OddNodesComeFirstBySeverityThenByName) {
  Fleet fleet = fleet_of(12, roce_node);
  port_of(fleet, 10, "mlx5_3").state = PortState::Down;  // an error
  port_of(fleet, 9, "mlx5_3").state = PortState::Down;
  port_of(fleet, 2, "mlx5_4").rate_gbps = 100;  // a warning
  const Whole whole(fleet);
  EXPECT_THAT(whole.names(), ElementsAre("gpu-9", "gpu-10", "gpu-2", "gpu-0", "gpu-1", "gpu-3", "gpu-4",
                                         "gpu-5", "gpu-6", "gpu-7", "gpu-8", "gpu-11"));
  EXPECT_EQ(whole.port("gpu-10", "mlx5_3").severity, Severity::Error);
  EXPECT_EQ(whole.port("gpu-10", "mlx5_4").severity, std::nullopt);
  EXPECT_EQ(whole.port("gpu-2", "mlx5_4").severity, Severity::Warning);
}

TEST(FabricReport, APoolHasItsOwnRails) {
  Fleet fleet = fleet_of(3, lag_node);
  for (const NodeFabric& node : fleet_of(4, roce_node)) {
    fleet.push_back(node);
    fleet.back().name += "-roce";
  }
  const Json json = Whole(fleet).json();
  const auto rails = [&](std::size_t pool) {
    std::vector<std::string> names;
    for (const Json& rail : json["pools"][pool][4])
      names.push_back(json["strings"][rail[0].get<std::size_t>()]);
    return names;
  };
  EXPECT_EQ(json["fields"]["pool"][4], "rails");
  EXPECT_THAT(rails(0), ElementsAre("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6",
                                    "mlx5_7", "mlx5_8"));
  EXPECT_THAT(rails(1), ElementsAre("mlx5_bond_0", "mlx5_bond_1", "mlx5_bond_2", "mlx5_bond_3"));
}

// Names after MAC addresses are those of one node each.
TEST(FabricReport, APoolSaysWhetherItsNodesShareNames) {
  Fleet fleet = fleet_of(5, roce_node);
  EXPECT_EQ(Whole(fleet).json()["pools"][0][3], true);
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    for (Port& port : fleet[i].ports) port.hca = "rocex" + std::to_string(i) + port.hca;
  }
  EXPECT_EQ(Whole(fleet).json()["pools"][0][3], false);
}

TEST(FabricReport, AMissingPortLeavesItsPlace) {
  Fleet fleet = fleet_of(5, roce_node);
  std::erase_if(fleet[2].ports, [](const Port& port) { return port.hca == "mlx5_4"; });
  const Whole whole(fleet);
  EXPECT_THAT(whole.node("gpu-2").state->rail_ports, ElementsAre(7, 0, 1, 2, -1, 3, 4, 5, 6));
  EXPECT_EQ(whole.report.rail_ports, 40u);
  EXPECT_EQ(whole.report.failed_rail_ports, 1u);
  EXPECT_EQ(whole.report.unknown_rail_ports, 0u);
  for (Port& port : fleet[0].ports) port.state.reset();
  EXPECT_EQ(Whole(fleet).report.unknown_rail_ports, 8u);
}

TEST(FabricReport, TheIndexOfAPort) {
  Fleet fleet = fleet_of(4, roce_node);
  port_of(fleet, 1, "mlx5_2").gids->resize(2);  // link-local rows alone
  port_of(fleet, 1, "mlx5_3").state = PortState::Down;
  port_of(fleet, 1, "mlx5_4").gids.reset();
  port_of(fleet, 1, "mlx5_5").gids->back().index = 7;
  const Whole whole(fleet);
  EXPECT_EQ(whole.port("gpu-1", "mlx5_1").gid, PortGid::Index);
  EXPECT_EQ(whole.port("gpu-1", "mlx5_1").gid_index, 3);
  EXPECT_EQ(whole.port("gpu-1", "mlx5_2").gid, PortGid::NoUsableRow);
  EXPECT_EQ(whole.port("gpu-1", "mlx5_3").gid, PortGid::PortDown);
  EXPECT_EQ(whole.port("gpu-1", "mlx5_4").gid, PortGid::RowsUnknown);
  EXPECT_EQ(whole.port("gpu-1", "mlx5_5").gid_index, 7);
  EXPECT_EQ(Whole(fleet_of(3, ib_node)).port("gpu-0", "mlx5_0").gid, PortGid::NotRoCE);
}

// A port that is not given is not fabric: ports that look alike were marked as such.
TEST(FabricReport, NoPortIsFabricWhereThereIsAReason) {
  Fleet fleet = fleet_of(1, roce_node);
  fleet[0].node_interface.reset();
  for (Port& port : fleet[0].ports) port.board_id = "B", port.rate_gbps = 200;
  const Whole whole(fleet);
  ASSERT_EQ(whole.node("gpu-0").state->reason, "AmbiguousFabric");
  for (const PortReport& port : whole.node("gpu-0").ports) {
    EXPECT_FALSE(port.fabric);
    EXPECT_THAT(port.why, HasSubstr("AmbiguousFabric: "));
  }
}

TEST(FabricReport, AnyPolicyThatTakesAPortMakesItFabric) {
  NcclPolicy first = policy_for("rdma/a");
  first.name = "first";
  first.fabric.hcas = {"mlx5_1"};
  NcclPolicy second = policy_for("rdma/b");
  second.name = "second";
  second.fabric.hcas = {"mlx5_2"};
  const Whole whole(fleet_of(3, roce_node), {first, second});
  EXPECT_THAT(whole.report.policies, ElementsAre("first", "second"));
  EXPECT_TRUE(whole.port("gpu-0", "mlx5_1").fabric);
  EXPECT_TRUE(whole.port("gpu-0", "mlx5_2").fabric);
  EXPECT_FALSE(whole.port("gpu-0", "mlx5_3").fabric);
  EXPECT_THAT(whole.port("gpu-0", "mlx5_3").why, Not(IsEmpty()));
}

TEST(FabricReport, TextsStandOnceAndRecordsHaveTheFieldsThatAreNamed) {
  Fleet fleet = fleet_of(3, roce_node);
  port_of(fleet, 1, "mlx5_3").state = PortState::Down;
  const Json json = Whole(fleet).json();
  std::vector<std::string> strings = json["strings"];
  std::sort(strings.begin(), strings.end());
  EXPECT_EQ(std::adjacent_find(strings.begin(), strings.end()), strings.end());
  EXPECT_EQ(json["nodes"][0].size(), json["fields"]["node"].size());
  const auto field = [&](const std::string& kind, const Json& list, const std::string& name) {
    const auto& names = json["fields"][kind];
    return list.at(static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin()));
  };
  const auto word = [&](const std::string& kind, const Json& list, const std::string& name) {
    return json["strings"].at(field(kind, list, name).get<std::size_t>()).get<std::string>();
  };
  const Json& node = json["nodes"][0];
  EXPECT_EQ(word("node", node, "$name"), "gpu-1");
  const Json ports = field("node", node, "ports");
  EXPECT_EQ(ports[2].size(), json["fields"]["port"].size());
  EXPECT_EQ(word("port", ports[2], "$state"), "Down");
  EXPECT_EQ(field("port", ports[2], "severity"), 0);
  EXPECT_EQ(field("port", ports[2], "gidIndex"), nullptr);
  const Json rows = field("port", ports[1], "rows");
  EXPECT_EQ(rows[3].size(), json["fields"]["row"].size());
  EXPECT_EQ(field("row", rows[3], "index"), 3);
  EXPECT_EQ(word("row", rows[3], "$address"), "10.2.0.2");
  EXPECT_EQ(field("row", rows[3], "usable"), true);
  EXPECT_EQ(word("row", rows[0], "$why"), "link-local");
  const Json interfaces = field("node", node, "interfaces");
  EXPECT_EQ(interfaces[0].size(), json["fields"]["interface"].size());
  EXPECT_EQ(word("interface", interfaces[0], "$addresses"), "10.1.0.2/16");
  EXPECT_EQ(json["findings"][0].size(), json["fields"]["finding"].size());
  EXPECT_EQ(json["codes"]["PortDown"], words_of(Code::PortDown).meaning);
  EXPECT_EQ(word("finding", json["findings"][0], "$remedy"), words_of(Code::PortDown).remedy);
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
  const Whole whole(fleet, {policy});
  const std::string text = whole.text();
  EXPECT_THAT(text, Not(HasSubstr("<")));
  for (const char c : text) ASSERT_TRUE(c >= ' ' && c <= '~');
  // The byte that is no UTF-8 becomes U+FFFD; all else comes back as it was.
  const std::string kept = "</script><img src=x onerror=alert(1)><!--\xef\xbf\xbd\u2028\"\\";
  const Json json = whole.json();
  EXPECT_EQ(json["policies"][0], kept);
  const auto& strings = json["strings"];
  EXPECT_NE(std::find(strings.begin(), strings.end(), kept), strings.end());
}

}  // namespace
}  // namespace nccl_env::report_test
