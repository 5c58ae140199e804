// SPDX-License-Identifier: Apache-2.0
#include "exec/json_field.h"

#include <nlohmann/json.hpp>

namespace nccl_env::kube {

Result<std::string> text_of(const nlohmann::json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || found->is_null()) return std::string();
  if (!found->is_string()) return Error{std::string(field) + ": must be a string"};
  return found->get<std::string>();
}

}  // namespace nccl_env::kube
