// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "nccl_env/result.h"

namespace nccl_env::kube {

// The string `field` of an object; "" where it is absent or null.
inline Result<std::string> text_of(const nlohmann::json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || found->is_null()) return std::string();
  if (!found->is_string()) return Error{std::string(field) + ": must be a string"};
  return found->get<std::string>();
}

}  // namespace nccl_env::kube
