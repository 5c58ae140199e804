// SPDX-License-Identifier: Apache-2.0
// Policies of every kind and a node with rails, against which inputs are tried.
#pragma once

#include <memory>
#include <vector>

#include "core/builders.h"
#include "nccl_env/core/decide/node_values.h"
#include "nccl_env/core/decide/plan.h"

namespace nccl_env::fuzz {

using Policies = std::vector<std::shared_ptr<const NcclPolicy>>;

inline Policies make_sample_policies() {
  NcclPolicy broad = tests::policy_for("*", Exposure::Host);
  broad.host_devices = true;
  broad.containers = ContainerScope::All;
  broad.socket_interface = {SocketInterfaceRule::Kind::Literal, "eth0"};
  broad.env = {{"NCCL_IB_TIMEOUT", "22"}, {"NCCL_IB_TC", "41"}};

  NcclPolicy shared = tests::policy_for("rdma/*", Exposure::SubInterface);
  shared.gid_index.kind = GidIndexRule::Kind::Dynamic;
  shared.device_classes = {"mrdma.google.com"};
  shared.networks = {{"*/rail-*", Exposure::SubInterface}, {"*", Exposure::PodOwned}};

  NcclPolicy owned = tests::policy_for("rdma/*");
  owned.host_devices = true;
  owned.on_unresolved = OnUnresolved::Deny;

  NcclPolicy constant = tests::policy_for("rdma/hca", Exposure::Host);
  constant.hca = {HcaRule::Kind::Literal, "=mlx5_1"};
  constant.gid_index = {GidIndexRule::Kind::Literal, 3};

  NcclPolicy dry = broad;
  dry.mode = PolicyMode::DryRun;

  NcclPolicy env_file = broad;
  env_file.deliver_env_file = env_file.says_delivery = true;

  NcclPolicy all = shared;
  all.containers = ContainerScope::All;

  NcclPolicy varied = broad;
  varied.variants.resize(2);
  varied.variants[0].when.node_labels = {{"topology.kubernetes.io/zone", "a*"}};
  varied.variants[0].env = {{"NCCL_IB_TC", "96"}};
  varied.variants[0].fabric.emplace().hcas = {"mlx5_[0-3]"};
  varied.variants[0].socket_interface.emplace();
  varied.variants[1].when.node_labels = {{"nvidia.com/gpu.product", "*H100*"}};
  varied.variants[1].when.min_rate_gbps = 200;
  varied.variants[1].env = {{"NCCL_IB_TC", "106"}, {"NCCL_IB_SL", "3"}};

  Policies made;
  for (const NcclPolicy& policy : {broad, shared, owned, constant, dry, env_file, all, varied})
    made.push_back(std::make_shared<const NcclPolicy>(policy));
  return made;
}

inline const Policies& sample_policies() {
  static const Policies policies = make_sample_policies();
  return policies;
}

// With and without an image for the init container.
inline const std::vector<PlanOptions>& sample_options() {
  static const std::vector<PlanOptions> options{
      {}, {Resolver{"registry.example/agent:1", "100m", "64Mi", "16Mi"}}};
  return options;
}

inline NodeFabric sample_table() {
  NodeFabric table = tests::rails(2);
  table.node_labels = {NodeLabel{"topology.kubernetes.io/zone", "b"},
                       NodeLabel{"nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"}};
  return table;
}
inline NodeContext sample_context() {
  return {tests::kNow};
}

}  // namespace nccl_env::fuzz
