// SPDX-License-Identifier: Apache-2.0
// Manifests of a store: one policy, one node, one namespace, and what a test changes in them.
#pragma once

#include <string>

namespace nccl_env::tests {

inline std::string policy_yaml(const std::string& more = "", const std::string& timeout = "22") {
  return "apiVersion: nccl-env.io/v1alpha1\nkind: NcclPolicy\nmetadata: {name: p}\nspec:\n"
         "  match: {resources: [{name: rdma/hca, exposure: SubInterface}]}\n  gidIndex: Pin\n"
         "  env: {NCCL_IB_TIMEOUT: \"" +
         timeout + "\"}\n" + more;
}

inline std::string table_yaml(const std::string& node = "node-a", const std::string& hca = "mlx5_1") {
  return "apiVersion: nccl-env.io/v1alpha1\nkind: NodeFabric\nmetadata: {name: " + node +
         "}\nobserved:\n  ports:\n  - hca: " + hca +
         "\n    port: 1\n    linkLayer: Ethernet\n    transport: RoCE\n    state: Active\n    gids:\n"
         "    - {index: 3, gid: \"::ffff:25.11.128.2\", type: RoCEv2, address: 25.11.128.2, netdev: eth1}\n";
}

inline std::string namespace_yaml(const std::string& policy = "p") {
  return "apiVersion: v1\nkind: Namespace\nmetadata: {name: ml, labels: {nccl-env.io/policy: " + policy +
         "}}\n";
}

inline std::string claim_template_yaml(const std::string& device_class = "rdma",
                                       const std::string& name_space = "ml") {
  return "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: nics" +
         (name_space.empty() ? "" : ", namespace: " + name_space) +
         "}\nspec:\n  spec:\n    devices: {requests: [{name: nic, exactly: {deviceClassName: " +
         device_class + "}}]}\n";
}

}  // namespace nccl_env::tests
