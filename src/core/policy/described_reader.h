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
#include "policy/constants.h"
#include "policy/fields.h"
#include "policy/rules.h"

namespace nccl_env::described {

using PolicyJson = nlohmann::json;

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
  const auto text = in.fields.text(name);
  if (!text) return;
  auto value = kind.parse(*text);
  if (!value) return in.findings.error(in.fields.path(name), value.error().message);
  member = *std::move(value);
}

template <class Words, class Member>
void read_word(const PolicyInput& in, std::string_view name, const Words& words, Member& member) {
  std::array<std::string_view, std::tuple_size_v<Words>> accepted;
  for (std::size_t i = 0; i < words.size(); ++i) accepted[i] = words[i].first;
  if (const auto index = in.fields.word(name, accepted)) member = words[*index].second;
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
  in.fields.boolean(name, member);
}
inline void read_as(const PolicyInput& in, std::string_view name, Int kind, std::optional<int>& member) {
  std::optional<std::int64_t> number;
  in.fields.integer(name, kind.least, kind.most, number);
  if (number) member = static_cast<int>(*number);
}
inline void read_as(const PolicyInput& in, std::string_view name, Above /*0*/,
                    std::optional<double>& member) {
  in.fields.positive(name, member);
}

template <class Value>
void read_as(const PolicyInput& in, std::string_view name, const Texts<Value>& kind,
             std::vector<Value>& member) {
  if (in.fields.find(name) != nullptr) member.clear();
  in.fields.items(name, kind.most, [&](const PolicyJson& item, const std::string& path) {
    if (!item.is_string()) return in.findings.error(path, "expected a string, found " + describe(item));
    auto value = kind.item.parse(item.get_ref<const std::string&>());
    if (!value) return in.findings.error(path, value.error().message);
    member.push_back(*std::move(value));
  });
}

template <class Object>
void read_as(const PolicyInput& in, std::string_view name, Objects<Object> kind,
             std::vector<Object>& member) {
  const auto names = names_in(fields_of<Object>);
  in.fields.items(name, kind.most, [&](const PolicyJson& item, const std::string& path) {
    if (item.is_object())
      return read_policy_object({Fields(item, path, names, in.findings), in.options, in.findings},
                                member.emplace_back());
    std::string accepted;
    for (const std::string_view each : names) accepted.append(accepted.empty() ? "" : ", ").append(each);
    in.findings.error(path, "expected an object {" + accepted + "}, found " + describe(item));
  });
}

template <class Object>
void read_as(const PolicyInput& in, std::string_view name, Nested /*kind*/, Object& member) {
  const PolicyJson* value = in.fields.object(name);
  if (value == nullptr) return;
  const auto names = names_in(fields_of<Object>);
  read_policy_object({Fields(*value, in.fields.path(name), names, in.findings), in.options, in.findings},
                     member);
}
template <class Object>
void read_as(const PolicyInput& in, std::string_view name, Nested kind, std::optional<Object>& member) {
  if (in.fields.find(name) != nullptr) read_as(in, name, kind, member.emplace());
}

inline void read_as(const PolicyInput& in, std::string_view /*hca*/, HcaList /*kind*/, HcaRule& member) {
  read_hca(in.fields, in.findings, member);
}
inline void read_as(const PolicyInput& in, std::string_view /*socketInterface*/, InterfaceList /*kind*/,
                    SocketInterfaceRule& member) {
  read_socket_interface(in.fields, in.findings, member);
}
inline void read_as(const PolicyInput& in, std::string_view name, InterfaceList kind,
                    std::optional<SocketInterfaceRule>& member) {
  if (in.fields.find(name) != nullptr) read_as(in, name, kind, member.emplace());
}
inline void read_as(const PolicyInput& in, std::string_view /*gidIndex*/, IndexOrWord /*kind*/,
                    GidIndexRule& member) {
  read_gid_index(in.fields, in.findings, member);
}
inline void read_as(const PolicyInput& in, std::string_view name, Constants kind, ConstantMap& member) {
  read_constants(in, name, kind, member);
}
inline void read_as(const PolicyInput& in, std::string_view name, LabelGlobs kind, ConstantMap& member) {
  read_labels(in, name, kind, member);
}
inline void read_whole(const PolicyInput& in, std::string_view /*delivery*/, Carriers /*kind*/,
                       NcclPolicy& policy) {
  read_delivery(in.fields, in.findings, policy);
}

template <class Object, class Member, class Kind>
void read_field(const PolicyInput& in, const Field<Object, Member, Kind>& field, Object& object) {
  if (field.absent == policy::kRequired && in.fields.find(field.name) == nullptr)
    in.findings.error(in.fields.path(field.name), "is missing");
  read_as(in, field.name, field.kind, object.*field.member);
}
template <class... Each, class Object>
void read_field(const PolicyInput& in, const Group<Each...>& group, Object& object) {
  const PolicyJson* value = in.fields.object(group.name);
  if (value == nullptr) return;
  const auto names = names_in(group.fields);
  const PolicyInput inner{Fields(*value, in.fields.path(group.name), names, in.findings), in.options,
                          in.findings};
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
