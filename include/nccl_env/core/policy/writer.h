// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/policy/reader.h"

namespace nccl_env {

// The policy as read_policy() reads it, defaults written out.
nlohmann::json to_json(const NcclPolicy& policy);
// As their fields of spec.
nlohmann::json to_json(const FabricRule& rule);
nlohmann::json to_json(const HcaRule& rule);
nlohmann::json to_json(const GidIndexRule& rule);
nlohmann::json to_json(const SocketInterfaceRule& rule);

}  // namespace nccl_env
