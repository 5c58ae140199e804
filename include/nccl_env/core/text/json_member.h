// SPDX-License-Identifier: Apache-2.0
// Lenient look-ups in a JSON tree that somebody else wrote: another shape reads as absent, never as an error.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace nccl_env {

// The member of an object; null where there is none, or where `object` is not an object.
inline const nlohmann::json& member(const nlohmann::json& object, std::string_view name) {
  static const nlohmann::json kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(name);
  return found == object.end() ? kNone : *found;
}

// The text of a string; "" for anything else.
inline std::string text_of(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

// The text of a member of an object; "" where it is not a string.
inline std::string text_at(const nlohmann::json& object, std::string_view name) {
  return text_of(member(object, name));
}

}  // namespace nccl_env
