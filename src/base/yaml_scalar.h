// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "nccl_env/result.h"

namespace nccl_env {

// What a plain scalar stands for in the core schema of YAML 1.2 (section 10.3.2).
Result<nlohmann::json> resolve_plain_scalar(std::string_view text);

}  // namespace nccl_env
