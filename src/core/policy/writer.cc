// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/policy/writer.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <vector>

#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/policy/description.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/hex.h"
#include "policy/words.h"

namespace nccl_env {

using Json = nlohmann::json;

}  // namespace nccl_env

// An optional without a value, and a list or map that may not be empty and is, are left out.
namespace nccl_env::described {
namespace {

template <class Object>
Json write_policy_object(const Object& object);

template <class Value>
Json policy_value(const Text<Value>& kind, const Value& value) {
  return kind.format(value);
}
template <class Enum>
Json policy_value(Word<Enum> /*kind*/, Enum value) {
  return word_of(value);
}
template <class Value, std::size_t N>
Json policy_value(const OneOf<Value, N>& kind, const Value& value) {
  for (const auto& [word, meaning] : kind.words) {
    if (meaning == value) return word;
  }
  return {};
}
Json policy_value(Bool /*kind*/, bool value) {
  return value;
}
Json policy_value(Int /*kind*/, int value) {
  return value;
}
Json policy_value(Above /*kind*/, double value) {
  return value;
}
// NCCL alone is not written: an init container of an older release does not know the field.
template <class Value>
Json policy_value(const Texts<Value>& kind, const std::vector<Value>& values) {
  constexpr std::size_t kUnsaid = std::is_same_v<Value, const Engine*> ? 1 : 0;
  if (kind.least > 0 && values.size() <= kUnsaid) return {};
  Json list = Json::array();
  for (const Value& value : values) list.push_back(kind.item.format(value));
  return list;
}
template <class Object>
Json policy_value(Objects<Object> /*kind*/, const std::vector<Object>& values) {
  Json list = Json::array();
  for (const Object& value : values) list.push_back(write_policy_object(value));
  return list;
}
template <class Object>
Json policy_value(Nested /*kind*/, const Object& value) {
  return write_policy_object(value);
}
Json policy_value(HcaList /*kind*/, const HcaRule& value) {
  return to_json(value);
}
Json policy_value(InterfaceList /*kind*/, const SocketInterfaceRule& value) {
  return to_json(value);
}
Json policy_value(IndexOrWord /*kind*/, const GidIndexRule& value) {
  return to_json(value);
}
Json policy_value(Constants kind, const ConstantMap& value) {
  return kind.least > 0 && value.empty() ? Json() : Json(value);
}
Json policy_value(LabelGlobs /*kind*/, const ConstantMap& value) {
  return value.empty() ? Json() : Json(value);
}
Json whole_value(Carriers /*kind*/, const NcclPolicy& policy) {
  return Json::array({policy.deliver_env_file ? "EnvFile" : "File"});
}

template <class Kind, class Member>
constexpr bool has_word_for_none = false;
template <class Value, std::size_t N>
constexpr bool has_word_for_none<OneOf<Value, N>, Value> = true;

template <class Object, class Member, class Kind>
Json value_in(const Field<Object, Member, Kind>& field, const Object& object) {
  const Member& value = object.*field.member;
  if constexpr (is_optional<Member> && !has_word_for_none<Kind, Member>) {
    return value ? policy_value(field.kind, *value) : Json();
  } else {
    return policy_value(field.kind, value);
  }
}
template <class... Each, class Object>
Json value_in(const Group<Each...>& group, const Object& object);
template <class Kind, class Object>
Json value_in(const WholeField<Kind>& field, const Object& object) {
  return whole_value(field.kind, object);
}

template <class Each, class Object>
void put_field(Json& json, const Each& field, const Object& object) {
  if (Json value = value_in(field, object); !value.is_null())
    json[std::string(field.name)] = std::move(value);
}
template <class... Each, class Object>
Json value_in(const Group<Each...>& group, const Object& object) {
  Json json;
  std::apply([&](const auto&... field) { (put_field(json, field, object), ...); }, group.fields);
  return json;
}

template <class Object>
Json write_policy_object(const Object& object) {
  Json json = Json::object();
  each_field<Object>([&](const auto& field) { put_field(json, field, object); });
  return json;
}

}  // namespace
}  // namespace nccl_env::described

namespace nccl_env {
namespace {

constexpr std::string_view kOfGidRow[] = {variable::kIbAddrFamily, variable::kIbAddrRange,
                                          variable::kIbRoceVersionNum, variable::kPortRecovery};

}  // namespace

Json to_json(const FabricRule& rule) {
  return described::write_policy_object(rule);
}

Json to_json(const HcaRule& rule) {
  if (rule.kind == HcaRule::Kind::Literal) return rule.literal;
  return name_in(words::kHca, rule.kind);
}

Json to_json(const GidIndexRule& rule) {
  if (rule.kind == GidIndexRule::Kind::Literal) return rule.literal;
  return name_in(words::kGidIndex, rule.kind);
}

Json to_json(const SocketInterfaceRule& rule) {
  if (rule.kind == SocketInterfaceRule::Kind::Literal) return rule.literal;
  return name_in(words::kSocketInterface, rule.kind);
}

Json to_json(const NcclPolicy& policy) {
  Json spec = described::write_policy_object(policy);
  if (policy.variants.empty()) spec.erase("variants");
  if (policy.partition_key) spec["env"].erase(std::string(variable::kIbPkeyValue));
  return {{"apiVersion", "nccl-env.io/v1alpha1"},
          {"kind", "NcclPolicy"},
          {"metadata", {{"name", policy.name}, {"generation", policy.generation}}},
          {"spec", std::move(spec)}};
}

std::string value_hash(const NcclPolicy& policy) {
  Json spec = described::write_policy_object(policy);
  // Which pods are meant, how values reach them, and what becomes of those that get none.
  for (const char* name : {"mode", "match", "skipResources", "containers", "delivery", "onUnresolved"})
    spec.erase(name);
  // Constants count where NCCL chooses a GID row by them.
  Json& constants = spec["env"];
  for (auto entry = constants.begin(); entry != constants.end();) {
    const bool counts = std::ranges::find(kOfGidRow, entry.key()) != std::end(kOfGidRow);
    entry = counts ? std::next(entry) : constants.erase(entry);
  }
  std::uint32_t hash = 2166136261;  // FNV-1a, which is the same in every replica and release
  for (const char letter : dump_json(spec)) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619;
  std::string digits;
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    append_hex(digits, static_cast<std::uint8_t>(hash >> shift));
  return digits;
}

}  // namespace nccl_env
