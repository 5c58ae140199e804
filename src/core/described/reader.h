// SPDX-License-Identifier: Apache-2.0
// Reads an object as it is described. Fields that are not described are ignored. Refusals stand in the order
// of the description; at an object's first required field all that it requires and lacks are named.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "nccl_env/core/described/kinds.h"
#include "text/json_fields.h"
#include "text/quote.h"

namespace nccl_env::described {

// Rules between the fields of an object, and between the items of its lists: to specialise. check() is called
// after each list, with its name, and with "" after the last field.
template <class Object>
struct Rules {
  static void check(const json::Fields& /*fields*/, std::string_view /*list*/, Object& /*object*/) {}
};

template <class Object>
Object read_object(const json::Fields& fields);

template <class Value>
std::optional<Value> read_as(const json::Fields& fields, std::string_view name, const Text<Value>& kind) {
  return fields.parsed(name, [&](std::string_view text) {
    return kind.may_be_empty && text.empty() ? Result<Value>(Value()) : kind.parse(text);
  });
}

template <class Enum>
std::optional<Enum> read_as(const json::Fields& fields, std::string_view name, Word<Enum> /*kind*/) {
  return fields.parsed(name, [](std::string_view text) -> Result<Enum> {
    for (const auto& [word, meaning] : words_of<Enum>) {
      if (word == text) return meaning;
    }
    std::string accepted;
    for (const auto& [word, meaning] : words_of<Enum>)
      accepted.append(accepted.empty() ? "" : ", ").append(word);
    return Error{in_quotes(text) + " is none of " + accepted};
  });
}

inline std::optional<Timestamp> read_as(const json::Fields& fields, std::string_view name, Time /*kind*/) {
  return fields.parsed(name, parse_timestamp);
}
inline std::optional<bool> read_as(const json::Fields& fields, std::string_view name, Bool /*kind*/) {
  return fields.boolean(name);
}
inline std::optional<int> read_as(const json::Fields& fields, std::string_view name, Int kind) {
  return fields.integer(name, kind.least, kind.most);
}
inline std::optional<double> read_as(const json::Fields& fields, std::string_view name, Number kind) {
  return fields.number(name, kind.least, kind.most);
}

template <class Value>
std::optional<std::vector<Value>> read_as(const json::Fields& fields, std::string_view name,
                                          const Texts<Value>& kind) {
  return fields.texts(name, static_cast<std::size_t>(kind.most), kind.item.parse);
}
template <class Object>
std::optional<std::vector<Object>> read_as(const json::Fields& fields, std::string_view name,
                                           Objects<Object> kind) {
  return fields.objects(name, static_cast<std::size_t>(kind.most), read_object<Object>);
}
template <class Value>
std::optional<std::vector<Value>> read_as(const json::Fields& fields, std::string_view name,
                                          const TextsOrOlder<Value>& kind) {
  if (fields.find(kind.older_name)) {
    if (!fields.find(name)) return read_as(fields, kind.older_name, kind.older);
    fields.refuse(kind.older_name, "stands beside " + std::string(name) + ", which takes its place");
  }
  return read_as(fields, name, kind.texts);
}

// The value of a required field that was refused: a number that none has, so that rules can tell.
template <class Member, class Kind>
Member refused_value(const Kind& kind) {
  if constexpr (std::is_same_v<Kind, Int>) {
    return kind.least - 1;
  } else {
    return Member();
  }
}

template <class Object>
void require_fields(const json::Fields& fields) {
  each_field<Object>([&]<class Member, class Kind>(const Field<Object, Member, Kind>& field) {
    if constexpr (is_required<Member>) fields.require(field.name);
  });
}

template <class Object>
Object read_object(const json::Fields& fields) {
  Object object{};
  bool required = false;
  each_field<Object>([&]<class Member, class Kind>(const Field<Object, Member, Kind>& field) {
    Member& member = object.*field.member;
    if constexpr (is_required<Member>) {
      if (!std::exchange(required, true)) require_fields<Object>(fields);
      auto value = read_as(fields, field.name, field.kind);
      member = value ? *std::move(value) : refused_value<Member>(field.kind);
    } else {
      member = read_as(fields, field.name, field.kind);
    }
    if constexpr (is_list<Member>) Rules<Object>::check(fields, field.name, object);
  });
  Rules<Object>::check(fields, {}, object);
  return object;
}

}  // namespace nccl_env::described
