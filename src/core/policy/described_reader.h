// SPDX-License-Identifier: Apache-2.0
// Reads an object of a policy as it is described: defaults stay where a field is absent, and every refusal is
// a finding with the field's path, in the order of the description. Fields that are not described are
// refused.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "nccl_env/core/policy/description.h"
#include "nccl_env/core/text/spelling.h"
#include "policy/constants.h"
#include "policy/fields.h"
#include "policy/rules.h"

namespace nccl_env::described {

// Rules between the fields of an object: to specialise. check() is called after each field, with its name,
// and with "" after the last one.
template <class Object>
struct PolicyRules {
  static void check(const PolicyInput& /*fields*/, std::string_view /*name*/, Object& /*object*/) {}
};

template <class... Each>
constexpr auto names_in(const std::tuple<Each...>& fields) {
  return std::apply(
      [](const auto&... field) { return std::array<std::string_view, sizeof...(field)>{field.name...}; },
      fields);
}

template <class Object>
void read_policy_object(const PolicyInput& fields, Object& object);

template <class Value, class Member>
void read_as(const PolicyInput& in, std::string_view name, const Text<Value>& kind, Member& member) {
  if (auto value = in.fields.parsed(name, kind.parse)) member = *std::move(value);
}

// YAML takes 0x8001 without quotes for a number.
template <class Member>
void read_as(const PolicyInput& in, std::string_view name, const Text<std::uint16_t>& kind, Member& member) {
  const auto value = in.fields.find(name);
  std::int64_t number = 0;
  if (value && value->get(number) == simdjson::SUCCESS && number >= 0 && number <= 0xffff) {
    const std::string quoted = kind.format(static_cast<std::uint16_t>(number));
    if (kind.parse(quoted))
      return in.error(name, "expected a string, found the number " + std::to_string(number) +
                                ": quote it: \"" + quoted + "\"");
  }
  if (auto key = in.fields.parsed(name, kind.parse)) member = *key;
}

template <class Words, class Member>
void read_word(const PolicyInput& in, std::string_view name, const Words& words, Member& member) {
  const auto value = in.fields.find(name);
  std::string_view text;
  if (value && value->get(text) == simdjson::SUCCESS) {
    for (const auto& [word, meaning] : words) {
      if (word == text) return void(member = meaning);
    }
  }
  std::array<std::string_view, std::tuple_size_v<Words>> accepted;
  for (std::size_t i = 0; i < words.size(); ++i) accepted[i] = words[i].first;
  const std::string_view meant = nearest(text, accepted);
  in.expected(name,
              json::one_of(accepted) + (meant.empty() ? "" : " (do you mean " + std::string(meant) + "?)"));
}
template <class Enum, class Member>
void read_as(const PolicyInput& in, std::string_view name, Word<Enum> /*kind*/, Member& member) {
  read_word(in, name, words_of<Enum>, member);
}
template <class Value, std::size_t N, class Member>
void read_as(const PolicyInput& in, std::string_view name, const OneOf<Value, N>& kind, Member& member) {
  read_word(in, name, kind.words, member);
}

inline void read_as(const PolicyInput& in, std::string_view name, Bool /*kind*/, bool& member) {
  member = in.fields.boolean(name).value_or(member);
}
inline void read_as(const PolicyInput& in, std::string_view name, Int kind, std::optional<int>& member) {
  if (const auto number = in.fields.integer(name, kind.least, kind.most)) member = number;
}
inline void read_as(const PolicyInput& in, std::string_view name, Above kind, std::optional<double>& member) {
  const auto value = in.fields.find(name);
  double number = 0;
  if (value && value->get(number) == simdjson::SUCCESS && number > kind.least) return void(member = number);
  in.expected(name, "a number above 0");
}

template <class Value>
void read_as(const PolicyInput& in, std::string_view name, const Texts<Value>& kind,
             std::vector<Value>& member) {
  auto texts = in.fields.texts(name, static_cast<std::size_t>(kind.most), kind.item.parse);
  if (texts) member = *std::move(texts);
}

// The fields of an object inside, of which `described` names those that are accepted.
template <class... Each>
PolicyInput inside(const PolicyInput& in, json::Element value, const json::Path& at,
                   const std::tuple<Each...>& described) {
  return {json::Fields(value, at, in.fields.refusals(), names_in(described)), in.options, in.findings};
}

template <class Object>
void read_as(const PolicyInput& in, std::string_view name, Objects<Object> kind,
             std::vector<Object>& member) {
  in.fields.items(name, static_cast<std::size_t>(kind.most), [&](json::Element item, const json::Path& at) {
    if (item.is_object())
      return read_policy_object(inside(in, item, at, fields_of<Object>), member.emplace_back());
    std::string accepted;
    for (const std::string_view each : names_in(fields_of<Object>))
      accepted.append(accepted.empty() ? "" : ", ").append(each);
    in.fields.refusals().mismatch(at, "an object {" + accepted + "}", item);
  });
}

template <class Object>
void read_as(const PolicyInput& in, std::string_view name, Nested /*kind*/, Object& member) {
  if (const auto value = in.fields.object(name))
    read_policy_object(inside(in, *value, in.fields.path(name), fields_of<Object>), member);
}
template <class Object>
void read_as(const PolicyInput& in, std::string_view name, Nested kind, std::optional<Object>& member) {
  if (in.has(name)) read_as(in, name, kind, member.emplace());
}

inline void read_as(const PolicyInput& in, std::string_view /*hca*/, HcaList /*kind*/, HcaRule& member) {
  read_hca(in, member);
}
inline void read_as(const PolicyInput& in, std::string_view /*socketInterface*/, InterfaceList /*kind*/,
                    SocketInterfaceRule& member) {
  read_socket_interface(in, member);
}
inline void read_as(const PolicyInput& in, std::string_view name, InterfaceList kind,
                    std::optional<SocketInterfaceRule>& member) {
  if (in.has(name)) read_as(in, name, kind, member.emplace());
}
inline void read_as(const PolicyInput& in, std::string_view /*gidIndex*/, IndexOrWord /*kind*/,
                    GidIndexRule& member) {
  read_gid_index(in, member);
}
inline void read_as(const PolicyInput& in, std::string_view name, Constants kind, ConstantMap& member) {
  read_constants(in, name, kind, member);
}
inline void read_as(const PolicyInput& in, std::string_view name, LabelGlobs kind, ConstantMap& member) {
  read_labels(in, name, kind, member);
}
inline void read_whole(const PolicyInput& in, std::string_view /*delivery*/, Carriers /*kind*/,
                       NcclPolicy& policy) {
  read_delivery(in, policy);
}

template <class Object, class Member, class Kind>
void read_field(const PolicyInput& in, const Field<Object, Member, Kind>& field, Object& object) {
  if (field.absent == policy::kRequired) in.fields.require(field.name);
  read_as(in, field.name, field.kind, object.*field.member);
}
template <class... Each, class Object>
void read_field(const PolicyInput& in, const Group<Each...>& group, Object& object) {
  const auto value = in.fields.object(group.name);
  if (!value) return;
  const PolicyInput inner = inside(in, *value, in.fields.path(group.name), group.fields);
  std::apply([&](const auto&... field) { (read_field(inner, field, object), ...); }, group.fields);
}
template <class Kind, class Object>
void read_field(const PolicyInput& in, const WholeField<Kind>& field, Object& object) {
  read_whole(in, field.name, field.kind, object);
}

template <class Object>
void read_policy_object(const PolicyInput& fields, Object& object) {
  each_field<Object>([&](const auto& field) {
    read_field(fields, field, object);
    PolicyRules<Object>::check(fields, field.name, object);
  });
  PolicyRules<Object>::check(fields, {}, object);
}

}  // namespace nccl_env::described
