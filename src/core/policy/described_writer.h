// SPDX-License-Identifier: Apache-2.0
// Writes an object of a policy as it is described, with its defaults. An optional without a value, and a list
// or map that may not be empty and is, are left out.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "nccl_env/core/policy/description.h"
#include "nccl_env/core/policy/writer.h"

namespace nccl_env::described {

using PolicyJson = nlohmann::json;

template <class Object>
PolicyJson write_policy_object(const Object& object);

template <class Value>
PolicyJson policy_value(const Text<Value>& kind, const Value& value) {
  return kind.format(value);
}
template <class Enum>
PolicyJson policy_value(Word<Enum> /*kind*/, Enum value) {
  return word_of(value);
}
template <class Value, std::size_t N>
PolicyJson policy_value(const OneOf<Value, N>& kind, const Value& value) {
  for (const auto& [word, meaning] : kind.words) {
    if (meaning == value) return word;
  }
  return {};
}
inline PolicyJson policy_value(Bool /*kind*/, bool value) {
  return value;
}
inline PolicyJson policy_value(Int /*kind*/, int value) {
  return value;
}
inline PolicyJson policy_value(Above /*kind*/, double value) {
  return value;
}
template <class Value>
PolicyJson policy_value(const Texts<Value>& kind, const std::vector<Value>& values) {
  PolicyJson list = PolicyJson::array();
  for (const Value& value : values) list.push_back(kind.item.format(value));
  return kind.least > 0 && list.empty() ? PolicyJson() : list;
}
template <class Object>
PolicyJson policy_value(Objects<Object> /*kind*/, const std::vector<Object>& values) {
  PolicyJson list = PolicyJson::array();
  for (const Object& value : values) list.push_back(write_policy_object(value));
  return list;
}
template <class Object>
PolicyJson policy_value(Nested /*kind*/, const Object& value) {
  return write_policy_object(value);
}
inline PolicyJson policy_value(HcaList /*kind*/, const HcaRule& value) {
  return to_json(value);
}
inline PolicyJson policy_value(InterfaceList /*kind*/, const SocketInterfaceRule& value) {
  return to_json(value);
}
inline PolicyJson policy_value(IndexOrWord /*kind*/, const GidIndexRule& value) {
  return to_json(value);
}
inline PolicyJson policy_value(Constants kind, const ConstantMap& value) {
  return kind.least > 0 && value.empty() ? PolicyJson() : PolicyJson(value);
}
inline PolicyJson policy_value(LabelGlobs /*kind*/, const ConstantMap& value) {
  return value.empty() ? PolicyJson() : PolicyJson(value);
}
inline PolicyJson whole_value(Carriers /*kind*/, const NcclPolicy& policy) {
  PolicyJson carriers = PolicyJson::array();
  if (policy.deliver_file) carriers.push_back("File");
  if (policy.deliver_reference) carriers.push_back("Reference");
  return carriers;
}

template <class Kind, class Member>
inline constexpr bool has_word_for_none = false;
template <class Value, std::size_t N>
inline constexpr bool has_word_for_none<OneOf<Value, N>, Value> = true;

template <class Object, class Member, class Kind>
PolicyJson value_in(const Field<Object, Member, Kind>& field, const Object& object) {
  const Member& value = object.*field.member;
  if constexpr (is_optional<Member> && !has_word_for_none<Kind, Member>) {
    return value ? policy_value(field.kind, *value) : PolicyJson();
  } else {
    return policy_value(field.kind, value);
  }
}
template <class... Each, class Object>
PolicyJson value_in(const Group<Each...>& group, const Object& object);
template <class Kind, class Object>
PolicyJson value_in(const WholeField<Kind>& field, const Object& object) {
  return whole_value(field.kind, object);
}

template <class Each, class Object>
void put_field(PolicyJson& json, const Each& field, const Object& object) {
  if (PolicyJson value = value_in(field, object); !value.is_null())
    json[std::string(field.name)] = std::move(value);
}
template <class... Each, class Object>
PolicyJson value_in(const Group<Each...>& group, const Object& object) {
  PolicyJson json;
  std::apply([&](const auto&... field) { (put_field(json, field, object), ...); }, group.fields);
  return json;
}

template <class Object>
PolicyJson write_policy_object(const Object& object) {
  PolicyJson json = PolicyJson::object();
  each_field<Object>([&](const auto& field) { put_field(json, field, object); });
  return json;
}

}  // namespace nccl_env::described
