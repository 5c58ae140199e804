// SPDX-License-Identifier: Apache-2.0
// Writes an object as it is described, in the description's order; what is absent stays absent.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/described/kinds.h"

namespace nccl_env::described {

using nlohmann::ordered_json;

// `older`: lists that have an older form are written in it.
template <class Object>
ordered_json write_object(const Object& object, bool older);

template <class Value>
ordered_json write_as(const Text<Value>& kind, const Value& value, bool /*older*/) {
  return kind.format(value);
}
// A text as it is: without the copy that `format` would make.
inline ordered_json write_as(const Text<std::string>& /*kind*/, const std::string& value, bool /*older*/) {
  return value;
}
template <class Enum>
ordered_json write_as(Word<Enum> /*kind*/, Enum value, bool /*older*/) {
  return word_of(value);
}
inline ordered_json write_as(Time /*kind*/, Timestamp value, bool /*older*/) {
  return format_timestamp(value);
}
inline ordered_json write_as(Bool /*kind*/, bool value, bool /*older*/) {
  return value;
}
inline ordered_json write_as(Int /*kind*/, int value, bool /*older*/) {
  return value;
}
// 200 rather than 200.0, so that people and other writers see the same text.
inline ordered_json write_as(Number /*kind*/, double value, bool /*older*/) {
  const bool whole = std::floor(value) == value && std::abs(value) < 1e15;
  return whole ? ordered_json(static_cast<std::int64_t>(value)) : ordered_json(value);
}
template <class Value>
ordered_json write_as(const Texts<Value>& kind, const std::vector<Value>& values, bool /*older*/) {
  ordered_json list = ordered_json::array();
  for (const Value& value : values) list.push_back(kind.item.format(value));
  return list;
}
template <class Object>
ordered_json write_as(Objects<Object> /*kind*/, const std::vector<Object>& values, bool older) {
  ordered_json list = ordered_json::array();
  for (const Object& value : values) list.push_back(write_object(value, older));
  return list;
}
template <class Value>
ordered_json write_as(const TextsOrOlder<Value>& kind, const std::vector<Value>& values, bool older) {
  return older ? write_as(kind.older, values, older) : write_as(kind.texts, values, older);
}

template <class Kind>
std::string_view written_name(std::string_view name, const Kind& /*kind*/, bool /*older*/) {
  return name;
}
template <class Value>
std::string_view written_name(std::string_view name, const TextsOrOlder<Value>& kind, bool older) {
  return older ? kind.older_name : name;
}

template <class Object>
ordered_json write_object(const Object& object, bool older) {
  ordered_json json = ordered_json::object();
  each_field<Object>([&]<class Member, class Kind>(const Field<Object, Member, Kind>& field) {
    const Member& member = object.*field.member;
    const std::string name(written_name(field.name, field.kind, older));
    if constexpr (is_required<Member>) {
      json[name] = write_as(field.kind, member, older);
    } else if (member) {
      json[name] = write_as(field.kind, *member, older);
    }
  });
  return json;
}

}  // namespace nccl_env::described
