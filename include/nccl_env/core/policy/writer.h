// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

// The policy as read_policy() reads it, defaults written out.
nlohmann::json to_json(const NcclPolicy& policy);
// For NcclPolicy::value_hash. A field of spec counts unless it is known not to matter.
std::string value_hash(const NcclPolicy& policy);
// As their fields of spec.
nlohmann::json to_json(const FabricRule& rule);
nlohmann::json to_json(const HcaRule& rule);
nlohmann::json to_json(const GidIndexRule& rule);
nlohmann::json to_json(const SocketInterfaceRule& rule);

}  // namespace nccl_env
