// SPDX-License-Identifier: Apache-2.0
// A template is explained as the pod that admission makes of it.
#include <vector>

#include "judge/asked.h"

namespace nccl_env::template_test {
namespace {

using namespace nccl_env::tests;

std::vector<std::string> of_pod(const Json& object, const NcclPolicy& policy, const NodeFabric& table) {
  Json made = bound(admit(object, policy).pod, policy, &table);
  made["status"]["phase"] = "Running";
  return texts_of(ask_as_it_is(made, all_readable(policy, table)).answer.findings);
}

// Nodes with one thing wrong, or none.
std::vector<NodeFabric> nodes() {
  std::vector<NodeFabric> all(8, rails_node(4));
  all[1].ports[2].state = PortState::Down;
  for (Port& port : all[2].ports) port.state = PortState::Down;
  for (Port& port : all[3].ports) port.gids->clear();
  all[4].ports[1].link_layer = LinkLayer::InfiniBand;
  all[4].ports[1].transport = Transport::InfiniBand;
  all[5].time = kNow - std::chrono::hours(9);
  all[6].ports.clear();
  all[7].interfaces = std::vector<Interface>{interface("bond0", "10.0.0.2", 24)};
  return all;
}

std::vector<std::vector<Json>> environments() {
  return {{},
          {env_literal("NCCL_IB_HCA", "mlx5_1")},
          {env_literal("NCCL_IB_HCA", "=mlx5_9")},
          {env_literal("NCCL_IB_HCA", "$(HCAS)")},
          {env_literal("NCCL_IB_HCA", "")},
          {env_literal("NCCL_IB_GID_INDEX", "0")},
          {env_literal("NCCL_IB_DISABLE", "1")},
          {env_literal("NCCL_SOCKET_IFNAME", "lo")},
          {env_literal("NCCL_IB_TIMEOT", "22"), env_literal("NCCL_NET", "Socket")}};
}

TEST(Template, IsJudgedAsThePodThatComesOfIt) {
  std::vector<NcclPolicy> policies{policy_for("rdma/hca", Exposure::Host),
                                   policy_for("rdma/hca", Exposure::SubInterface),
                                   policy_for("rdma/hca", Exposure::PodOwned)};
  policies.push_back(policies[0]);
  policies.back().fabric.expect_ports = 8;
  policies.push_back(policies[1]);
  policies.back().fabric.link_layer = LinkLayer::Ethernet;
  policies.push_back(policies[1]);
  policies.back().fabric.hcas = {"mlx5_*"};  // leaves the link layer to the table
  policies.push_back(policies[0]);
  policies.back().env = {{"NCCL_IB_DISABLE", "1"}};
  policies.push_back(policies[0]);
  policies.back().hca = {HcaRule::Kind::Literal, "=mlx5_1,mlx5_7"};
  std::size_t told = 0;
  const std::vector<NodeFabric> tables = nodes();
  for (std::size_t p = 0; p < policies.size(); ++p) {
    for (std::size_t n = 0; n < tables.size(); ++n) {
      for (const std::vector<Json>& env : environments()) {
        SCOPED_TRACE("policy " + std::to_string(p) + ", node " + std::to_string(n) + ", " + Json(env).dump());
        Json object = pod({container("c", env), container("gpu", {}, "nvidia.com/gpu")});
        object["metadata"]["name"] = "p";
        const std::vector<std::string> found =
            texts_of(ask_template(object, policies[p], &tables[n], kNewestNccl).answer.findings);
        EXPECT_EQ(found, of_pod(object, policies[p], tables[n]));
        told += found.size();
      }
    }
  }
  EXPECT_GT(told, 1000u);
}

}  // namespace
}  // namespace nccl_env::template_test
