// SPDX-License-Identifier: Apache-2.0
// The invariant of all carriers: no variable of ours is ever empty, whatever the node has, unless its kubelet
// does not know fileKeyRef. An image's own value then counts wherever we have
// none.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "core/decide/decided.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/conf.h"

namespace nccl_env::tests::never_empty_test {
namespace {

// What we ship, and one with all rules that a node answers.
std::vector<NcclPolicy> policies() {
  std::vector<NcclPolicy> all = shipped_policies();
  NcclPolicy& asks = all.emplace_back(policy_for("rdma/hca"));
  asks.socket_interface.kind = SocketInterfaceRule::Kind::FromNode;
  asks.partition_key = 0x8001;
  asks.fabric.expect_ports = 2;
  asks.min_nccl = NcclVersion{2, 30, 7};
  PolicyVariant& variant = asks.variants.emplace_back();
  variant.when.node_labels = {{"kind", "a*"}};
  variant.env = {{"NCCL_IB_TC", "106"}};
  NcclPolicy engines = asks;
  for (const Engine* engine : other_engines()) {
    if (gives_values(*engine)) engines.engines.push_back(engine);
  }
  all.push_back(std::move(engines));
  return all;
}

NcclPolicy with(NcclPolicy policy, bool env_file, Exposure exposure) {
  policy.deliver_env_file = env_file;
  policy.resources = {{"rdma/hca", exposure}};
  policy.skip_resources.clear();
  return policy;
}

// What a node may be like; nothing: no table.
std::map<std::string, std::optional<NodeFabric>> states() {
  std::map<std::string, std::optional<NodeFabric>> all;
  NodeFabric well = rails(2);
  well.time = kNow;
  well.node_interface = "eth0";
  all["well"] = well;
  all["no table"] = std::nullopt;
  all["stale"] = well;
  all["stale"]->time = kNow - std::chrono::hours(24);
  all["down"] = well;
  for (Port& port : all["down"]->ports) port.state = PortState::Down;
  all["half down"] = well;
  all["half down"]->ports[0].state = PortState::Down;
  all["ambiguous"] = well;
  for (int i = 0; i < 2; ++i) {
    Port other = roce_port("other_" + std::to_string(i), "oth" + std::to_string(i), "10.9.0.2");
    other.board_id = "OTHER";
    all["ambiguous"]->ports.push_back(other);
  }
  all["not uniform"] = well;
  for (GidRow& row : *all["not uniform"]->ports[0].gids) row.index += 4;
  all["no rows"] = well;
  for (Port& port : all["no rows"]->ports) port.gids.reset();
  all["InfiniBand"] = well;
  all["InfiniBand"]->ports = {ib_port("mlx5_0"), ib_port("mlx5_1")};
  all["no ports"] = well;
  all["no ports"]->ports.clear();
  return all;
}

// The lines of the file of EnvFile as the kubelet reads them.
std::map<std::string, std::string> written(const Json& pod, const NodeFabric& seen) {
  if (resolver_of(pod).is_null()) return {};
  std::map<std::string, std::string> lines;
  std::istringstream text(render_env_file(resolved_by(pod, seen).env));
  for (std::string line; std::getline(text, line);) {
    const std::size_t equals = line.find('=');
    lines[line.substr(0, equals)] = line.substr(equals + 2, line.size() - equals - 3);
  }
  return lines;
}

// The container's environment by the kubelet's rules.
std::map<std::string, std::string> started(const Json& pod, std::size_t container,
                                           const std::map<std::string, std::string>& lines) {
  std::map<std::string, std::string> env;
  for (const Json& entry : pod["spec"]["containers"][container].value("env", Json::array())) {
    const std::string name = entry["name"];
    const Json from = entry.value("valueFrom", Json::object());
    if (from.contains("fileKeyRef")) {
      EXPECT_TRUE(from["fileKeyRef"]["optional"]) << name;
      if (const auto line = lines.find(from["fileKeyRef"]["key"]); line != lines.end())
        env[name] = line->second;
    } else {
      env[name] = from.contains("fieldRef") ? field_of(pod, from) : entry["value"].get<std::string>();
    }
  }
  return env;
}

// The lines of the text that the pod's file has from its node.
std::vector<std::string> lines_of_node(const Json& pod) {
  std::vector<std::string> lines;
  for (const Json& volume : pod["spec"].value("volumes", Json::array())) {
    if (volume["name"] != "nccl-env-conf" || !volume.contains("downwardAPI")) continue;
    std::istringstream text(field_of(pod, volume["downwardAPI"]["items"][0]));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
  }
  return lines;
}

struct Checked {
  int values = 0, nvshmem = 0;
};

void expect_nothing_empty(const Json& pod, const NcclPolicy& policy, const NodeFabric& seen,
                          Checked& checked) {
  for (const std::string& line : lines_of_node(pod)) {
    EXPECT_FALSE(line.ends_with('=') || line.ends_with(' ')) << line;
  }
  const auto lines = written(pod, seen);
  for (const std::size_t container : {0u, 1u}) {
    for (const auto& [name, value] : started(pod, container, lines)) {
      ++checked.values;
      EXPECT_FALSE(value.empty()) << name;
      if (name != "NVSHMEM_HCA_LIST") continue;
      ++checked.nvshmem;
      EXPECT_GT(policy.engines.size(), 1U);
      EXPECT_EQ(value.find('='), std::string::npos) << value;
    }
  }
}

TEST(NeverEmpty, HoldsForEachPolicyCarrierExposureAndStateOfANode) {
  Checked checked;
  for (const NcclPolicy& shipped : policies()) {
    for (const bool env_file : {false, true}) {
      for (const Exposure exposure : {Exposure::Host, Exposure::SubInterface, Exposure::PodOwned}) {
        const NcclPolicy policy = with(shipped, env_file, exposure);
        for (const bool host_network : {false, true}) {
          const Json before = pod({container("c"), container("n")}, host_network);
          const Json created = admit(before, policy, nullptr, with_resolver()).pod;
          for (const auto& [state, table] : states()) {
            SCOPED_TRACE(policy.name + (env_file ? " by EnvFile, " : " by File, ") +
                         std::string(to_string(exposure)) + ", " + state);
            const NodeFabric seen = table.value_or(NodeFabric{});
            const BindingPlan plan = binding_of(policy, table ? &*table : nullptr);
            expect_nothing_empty(bind_to_node(created, plan), policy, seen, checked);
            const ::testing::ScopedTrace not_bound(__FILE__, __LINE__, "not bound");
            expect_nothing_empty(created, policy, seen, checked);
          }
        }
      }
    }
  }
  EXPECT_GT(checked.values, 1000);
  EXPECT_GT(checked.nvshmem, 50);
}

}  // namespace
}  // namespace nccl_env::tests::never_empty_test
