// SPDX-License-Identifier: Apache-2.0
// Lenient look-ups in a JSON tree that somebody else wrote: another shape reads as absent, never as an error.
// And members of our own trees that may be absent.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
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

// The items of a member that is an array; none where it is not.
inline const nlohmann::json& items_at(const nlohmann::json& object, std::string_view name) {
  static const nlohmann::json kNone;
  const nlohmann::json& items = member(object, name);
  return items.is_array() ? items : kNone;
}

// JSON's null stands for a text or value that is not there.
inline nlohmann::ordered_json text_or_null(std::string_view text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}
template <class T>
nlohmann::ordered_json value_or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

}  // namespace nccl_env
