// SPDX-License-Identifier: Apache-2.0
// Finds what the API server refuses of a pod in a manifest.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace nccl_env::cli {

// The first quantity of a device that the API server refuses; "" for none.
std::string field_problem(const nlohmann::json& pod);

}  // namespace nccl_env::cli
