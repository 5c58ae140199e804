// SPDX-License-Identifier: Apache-2.0
// The invariant of all carriers: no variable of ours is ever empty, whatever the node has, unless its kubelet
// does not know fileKeyRef. An image's own value then counts wherever we have
// none.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "core/conf_pods.h"
#include "nccl_env/base/yaml.h"
#include "nccl_env/core/decide/start.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/policy/reader.h"
#include "support/places.h"

namespace nccl_env::tests::never_empty_test {
namespace {

enum class Delivery { File, EnvFile };
constexpr const char* kWords[] = {"File", "EnvFile"};

// What we ship, and one with all rules that a node answers.
std::vector<NcclPolicy> policies() {
  std::vector<NcclPolicy> all;
  for (const auto& entry : std::filesystem::directory_iterator(in_source("/policies"))) {
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    all.push_back(parse_policy(parse_documents(text, entry.path().string())->front(), {}).value());
  }
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

NcclPolicy with(NcclPolicy policy, Delivery delivery, Exposure exposure) {
  policy.deliver_env_file = delivery == Delivery::EnvFile;
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
std::map<std::string, std::string> written(const Json& pod, const NcclPolicy& policy,
                                           const NodeFabric& seen) {
  const Json inits = pod["spec"].value("initContainers", Json::array());
  if (inits.empty()) return {};
  bool engines = false;
  const Json annotations = pod["metadata"].value("annotations", Json::object());
  std::map<std::string, std::string> env;
  for (const Json& entry : inits[0]["env"]) {
    engines = engines || entry["name"] == "NCCL_ENV_ENGINES";
    if (!entry.contains("valueFrom")) continue;
    const std::string path = entry["valueFrom"]["fieldRef"]["fieldPath"];
    env[entry["name"]] = annotations.value(path.substr(22, path.size() - 24), "");
  }
  const Json& args = inits[0]["args"];
  const bool given = std::find(args.begin(), args.end(), "--given") != args.end();
  ConstantMap texts;
  for (const auto& [name, text] : env) {
    if (!name.starts_with("NCCL_ENV_") && (given || !text.empty())) texts.emplace(name, text);
  }
  const Resolution resolution = given ? resolve_given(texts, env["NCCL_ENV_NODE"])
                                      : resolve_in_pod(policy, seen, false, kNow, texts, engines);
  std::map<std::string, std::string> lines;
  std::istringstream text(render_env_file(resolution.env));
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
    } else if (from.contains("fieldRef")) {
      const std::string path = from["fieldRef"]["fieldPath"];
      env[name] =
          pod["metadata"].value("annotations", Json::object()).value(path.substr(22, path.size() - 24), "");
    } else {
      env[name] = entry["value"];
    }
  }
  return env;
}

// The lines of the text that the pod's file has from its node.
std::vector<std::string> lines_of_node(const Json& pod) {
  std::vector<std::string> lines;
  for (const Json& volume : pod["spec"].value("volumes", Json::array())) {
    if (volume["name"] != "nccl-env-conf" || !volume.contains("downwardAPI")) continue;
    const std::string path = volume["downwardAPI"]["items"][0]["fieldRef"]["fieldPath"];
    std::istringstream text(
        pod["metadata"].value("annotations", Json::object()).value(path.substr(22, path.size() - 24), ""));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
  }
  return lines;
}

TEST(NeverEmpty, HoldsForEachPolicyCarrierExposureAndStateOfANode) {
  int values = 0, nvshmem = 0;
  for (const NcclPolicy& shipped : policies()) {
    for (const Delivery delivery : {Delivery::File, Delivery::EnvFile}) {
      for (const Exposure exposure : {Exposure::Host, Exposure::SubInterface, Exposure::PodOwned}) {
        const NcclPolicy policy = with(shipped, delivery, exposure);
        for (const bool host_network : {false, true}) {
          const Json created =
              admit(pod({container("c"), container("n")}, host_network), policy, nullptr, with_resolver())
                  .pod;
          for (const auto& [state, table] : states()) {
            for (const bool bound : {false, true}) {
              Json seen = created;
              NodeContext context;
              context.now = kNow;
              context.max_table_age = std::chrono::hours(3);
              if (bound) {
                seen = bind_to_node(created, plan_binding(std::make_shared<const NcclPolicy>(policy),
                                                          "node-a", table ? &*table : nullptr, context));
              }
              const auto lines = written(seen, policy, table.value_or(NodeFabric{}));
              const std::string where = policy.name + " by " + kWords[static_cast<int>(delivery)] + ", " +
                                        std::string(to_string(exposure)) + ", " + state +
                                        (bound ? "" : ", not bound") + ": ";
              for (const std::string& line : lines_of_node(seen)) {
                EXPECT_FALSE(line.ends_with('=')) << where << line;
                nvshmem += line.starts_with("NVSHMEM_HCA_LIST=");
                EXPECT_FALSE(line.starts_with("NVSHMEM_HCA_LIST==")) << where << line;
              }
              for (const std::size_t container : {0u, 1u}) {
                for (const auto& [name, value] : started(seen, container, lines)) {
                  ++values;
                  if (name == "NVSHMEM_HCA_LIST") {
                    ++nvshmem;
                    EXPECT_GT(policy.engines.size(), 1U) << where;
                    EXPECT_EQ(value.find('='), std::string::npos) << where << value;
                  }
                  EXPECT_FALSE(value.empty()) << where << name;
                }
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(values, 1000);
  EXPECT_GT(nvshmem, 50);
}

}  // namespace
}  // namespace nccl_env::tests::never_empty_test
