// SPDX-License-Identifier: Apache-2.0
// Rules between the fields of a policy, in CEL, which the API server runs: what src/core/policy/reader.cc and
// constants.cc have in C++. Those of spec itself stand in the CRD.
#pragma once

#include <array>

namespace nccl_env::generate {

struct CelRule {
  const char* place;  // in the schema of spec
  const char* rule;
  const char* message;
};

inline constexpr std::array kPolicyRules{
    CelRule{
        "/properties/match",
        R"(has(self.resources) && size(self.resources) > 0 || has(self.deviceClasses) && size(self.deviceClasses) > 0 || has(self.networks) && size(self.networks) > 0 || self.hostDevices)",
        R"(needs at least one of resources, deviceClasses, networks and hostDevices: true)"},
    CelRule{
        "/properties/env",
        R"(self.all(name, name.matches('^(NCCL|RCCL|UCX|NVSHMEM|GLOO)_[A-Z0-9_]+$') && size(name) <= 255))",
        R"(names begin with NCCL_, RCCL_, UCX_, NVSHMEM_ or GLOO_, then capitals, digits and _)"},
    CelRule{"/properties/env", R"(!('NCCL_IB_HCA' in self))", R"(set spec.hca instead of NCCL_IB_HCA)"},
    CelRule{"/properties/env", R"(!('NCCL_IB_GID_INDEX' in self))",
            R"(set spec.gidIndex instead of NCCL_IB_GID_INDEX)"},
    CelRule{"/properties/env", R"(!('NCCL_SOCKET_IFNAME' in self))",
            R"(set spec.socketInterface instead of NCCL_SOCKET_IFNAME)"},
    CelRule{"/properties/env", R"(!('NCCL_HOSTID' in self))",
            R"(NCCL_HOSTID may not be a constant, because NCCL would take all nodes for one host)"},
    CelRule{"/properties/variants/items", R"(has(self.env) || has(self.fabric) || has(self.socketInterface))",
            R"(needs at least one of env, fabric and socketInterface)"},
    CelRule{
        "/properties/variants/items",
        R"(!has(self.fabric) || !has(self.when.linkLayer) && !has(self.when.boards) && !has(self.when.minRateGbps))",
        R"(a variant with a fabric may ask for nodeLabels only, because the other conditions are asked of the fabric)"},
    CelRule{"/properties/variants/items/properties/when/properties/nodeLabels",
            R"(self.all(key, key.matches('^[A-Za-z0-9][A-Za-z0-9_./-]*$') && size(key) <= 317))",
            R"(keys are those of labels, such as topology.kubernetes.io/zone)"},
    CelRule{
        "/properties/variants/items/properties/env",
        R"(self.all(name, name.matches('^(NCCL|RCCL|UCX|NVSHMEM|GLOO)_[A-Z0-9_]+$') && size(name) <= 255))",
        R"(names begin with NCCL_, RCCL_, UCX_, NVSHMEM_ or GLOO_, then capitals, digits and _)"},
    CelRule{
        "/properties/variants/items/properties/env",
        R"(!('NCCL_IB_HCA' in self || 'NCCL_IB_GID_INDEX' in self || 'NCCL_SOCKET_IFNAME' in self || 'NCCL_HOSTID' in self))",
        R"(NCCL_IB_HCA, NCCL_IB_GID_INDEX, NCCL_SOCKET_IFNAME and NCCL_HOSTID are not constants of a variant)"}};

}  // namespace nccl_env::generate
