// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/core/text/json_member.h"

namespace nccl_env {

// The items of a member that is an array; none where it is not.
inline const nlohmann::json& items_at(const nlohmann::json& object, std::string_view name) {
  static const nlohmann::json kNone;
  const nlohmann::json& items = member(object, name);
  return items.is_array() ? items : kNone;
}

// JSON's null stands for a text that is not there.
inline nlohmann::ordered_json text_or_null(std::string_view text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}
inline nlohmann::ordered_json value_or_null(const std::optional<std::string>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

}  // namespace nccl_env
