// SPDX-License-Identifier: Apache-2.0
// Schema and words of a policy: the kinds that described.h does not have, and its defaults. Members that are
// not optional have defaults; a field is required where its description says so.
#pragma once

#include "generate/described.h"
#include "nccl_env/core/policy/description.h"
#include "nccl_env/core/policy/writer.h"

namespace nccl_env::generate {

template <class Value, std::size_t N>
ordered_json schema_of(const OneOf<Value, N>& kind) {
  ordered_json words = ordered_json::array();
  for (const auto& [word, meaning] : kind.words) words.push_back(word);
  return {{"type", "string"}, {"enum", words}};
}
inline ordered_json schema_of(Above kind) {
  return {{"type", "number"}, {"minimum", number_of(kind.least)}, {"exclusiveMinimum", true}};
}
inline ordered_json schema_of(HcaList /*kind*/) {
  return {{"type", "string"}, {"minLength", 1}, {"maxLength", 1023}, {"pattern", "^[!-#%-~]+$"}};
}
inline ordered_json schema_of(InterfaceList /*kind*/) {
  return {{"type", "string"}, {"minLength", 2}, {"maxLength", 1023}, {"pattern", "^[!-#%-~]+$"}};
}
inline ordered_json schema_of(IndexOrWord /*kind*/) {
  return {{"x-kubernetes-int-or-string", true},
          {"minimum", 0},
          {"maximum", 255},
          {"pattern", "^(Auto|Pin|Dynamic|Omit|[0-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5])$"}};
}
inline ordered_json schema_of(Carriers /*kind*/) {
  return {{"type", "array"},
          {"x-kubernetes-list-type", "set"},
          {"minItems", 1},
          {"maxItems", 2},
          {"items", {{"type", "string"}, {"enum", {"File", "EnvFile"}}}}};
}
inline ordered_json map_schema(int least, int most, const ordered_json& value) {
  ordered_json schema{{"type", "object"}};
  if (least > 0) schema["minProperties"] = least;
  schema["maxProperties"] = most;
  schema["additionalProperties"] = value;
  return schema;
}
inline ordered_json schema_of(Constants kind) {
  return map_schema(kind.least, kind.most,
                    {{"type", "string"}, {"minLength", 1}, {"maxLength", 1023}, {"pattern", "^[ -#%-~]+$"}});
}
inline ordered_json schema_of(LabelGlobs kind) {
  return map_schema(1, kind.most, schema_of(policy::kGlob));
}

// The default as the schema has it; null where it has none, as for objects and empty lists.
template <class Kind, class Member>
ordered_json default_of(const Kind& /*kind*/, const Member& /*member*/) {
  return {};
}
template <class Enum>
ordered_json default_of(Word<Enum> /*kind*/, const Enum& value) {
  return word_of(value);
}
template <class Value, std::size_t N>
ordered_json default_of(const OneOf<Value, N>& kind, const Value& value) {
  for (const auto& [word, meaning] : kind.words) {
    if (meaning == value) return word;
  }
  return {};
}
inline ordered_json default_of(Bool /*kind*/, const bool& value) {
  return value;
}
inline ordered_json default_of(const Texts<std::string>& /*kind*/, const std::vector<std::string>& value) {
  return value.empty() ? ordered_json() : ordered_json(value);
}
template <class Rule>
requires std::is_same_v<Rule, HcaRule> || std::is_same_v<Rule, GidIndexRule> ||
    std::is_same_v<Rule, SocketInterfaceRule>
        ordered_json rule_default(const Rule& rule) {
  return to_json(rule);
}
inline ordered_json default_of(HcaList /*kind*/, const HcaRule& rule) {
  return rule_default(rule);
}
inline ordered_json default_of(IndexOrWord /*kind*/, const GidIndexRule& rule) {
  return rule_default(rule);
}
inline ordered_json default_of(InterfaceList /*kind*/, const SocketInterfaceRule& rule) {
  return rule_default(rule);
}

template <class Member>
struct ObjectIn {
  using Type = Member;
};
template <class Member>
struct ObjectIn<std::optional<Member>> {
  using Type = Member;
};

template <class Object>
ordered_json policy_schema();

template <class Object, class Member, class Kind>
ordered_json schema_of_field(const Field<Object, Member, Kind>& field) {
  if constexpr (std::is_same_v<Kind, Nested>) {
    return policy_schema<typename ObjectIn<Member>::Type>();
  } else {
    return schema_of(field.kind);
  }
}
template <class Object, class Item>
ordered_json schema_of_field(const Field<Object, std::vector<Item>, Objects<Item>>& field) {
  return list_schema(field.kind.most, policy_schema<Item>());
}

template <class Object, class Member, class Kind>
void add_policy_field(ordered_json& schema, const Field<Object, Member, Kind>& field) {
  if (field.absent == policy::kRequired) schema["required"].push_back(field.name);
  ordered_json& property = schema["properties"][std::string(field.name)] = {{"description", field.means}};
  property.update(schema_of_field(field));
  if (const ordered_json value = default_of(field.kind, Object().*field.member); !value.is_null())
    property["default"] = value;
}
template <class Kind>
void add_policy_field(ordered_json& schema, const WholeField<Kind>& field) {
  ordered_json& property = schema["properties"][std::string(field.name)] = {{"description", field.means}};
  property.update(schema_of(field.kind));
}
template <class... Each>
void add_policy_field(ordered_json& schema, const Group<Each...>& group) {
  ordered_json& property =
      schema["properties"][std::string(group.name)] = {{"description", group.means}, {"type", "object"}};
  std::apply([&](const auto&... field) { (add_policy_field(property, field), ...); }, group.fields);
}

template <class Object>
ordered_json policy_schema() {
  ordered_json schema{{"type", "object"}};
  each_field<Object>([&](const auto& field) { add_policy_field(schema, field); });
  return schema;
}

template <class Value, std::size_t N>
void words_in(const OneOf<Value, N>& kind, Entries& to) {
  for (const auto& [word, meaning] : kind.words) add_once(to, word);
}
inline void words_in(Above /*kind*/, Entries& /*to*/) {}
inline void words_in(HcaList /*kind*/, Entries& to) {
  add_once(to, "FromNode");
}
inline void words_in(InterfaceList /*kind*/, Entries& to) {
  add_once(to, "Omit");
}
inline void words_in(IndexOrWord /*kind*/, Entries& to) {
  for (const char* word : {"Auto", "Dynamic", "Omit"}) add_once(to, word);
}
inline void words_in(Carriers /*kind*/, Entries& to) {
  for (const char* word : {"File", "EnvFile"}) add_once(to, word);
}
inline void words_in(Constants /*kind*/, Entries& /*to*/) {}
inline void words_in(LabelGlobs /*kind*/, Entries& /*to*/) {}

template <class Object>
void policy_words(Entries& to);
template <class Object, class Member, class Kind>
void policy_words_in(const Field<Object, Member, Kind>& field, Entries& to) {
  add_once(to, field.name);
  if constexpr (std::is_same_v<Kind, Nested>) {
    policy_words<typename ObjectIn<Member>::Type>(to);
  } else {
    words_in(field.kind, to);
  }
}
template <class Object, class Item>
void policy_words_in(const Field<Object, std::vector<Item>, Objects<Item>>& field, Entries& to) {
  add_once(to, field.name);
  policy_words<Item>(to);
}
template <class Kind>
void policy_words_in(const WholeField<Kind>& field, Entries& to) {
  add_once(to, field.name);
  words_in(field.kind, to);
}
template <class... Each>
void policy_words_in(const Group<Each...>& group, Entries& to) {
  add_once(to, group.name);
  std::apply([&](const auto&... field) { (policy_words_in(field, to), ...); }, group.fields);
}
template <class Object>
void policy_words(Entries& to) {
  each_field<Object>([&](const auto& field) { policy_words_in(field, to); });
}

}  // namespace nccl_env::generate
