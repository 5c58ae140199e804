// SPDX-License-Identifier: Apache-2.0
// Makes of a description (core/described/kinds.h) the schema of a CRD, the rows of a reference page, the
// words of a dictionary, and an example with every field. A new kind needs an overload of schema_of, form_of,
// words_in and example_of.
#pragma once

#include <algorithm>
#include <climits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/described/kinds.h"

namespace nccl_env::generate {

using nlohmann::ordered_json;
using namespace described;

inline ordered_json number_of(double value) {
  return value == static_cast<int>(value) ? ordered_json(static_cast<int>(value)) : ordered_json(value);
}

// The schema of a value, without the sentence about its field.

template <class Value>
ordered_json schema_of(const Text<Value>& kind) {
  const std::string pattern(kind.pattern);
  ordered_json schema{{"type", "string"}};
  if (kind.shortest > 0 && !kind.may_be_empty) schema["minLength"] = kind.shortest;
  schema["maxLength"] = kind.longest;
  schema["pattern"] = kind.may_be_empty ? "^(" + pattern + ")?$" : "^" + pattern + "$";
  return schema;
}
template <class Enum>
ordered_json schema_of(Word<Enum> /*kind*/) {
  ordered_json words = ordered_json::array();
  for (const auto& [word, meaning] : described::words_of<Enum>) words.push_back(word);
  return {{"type", "string"}, {"enum", words}};
}
inline ordered_json schema_of(Time /*kind*/) {
  return {{"type", "string"}, {"format", "date-time"}};
}
inline ordered_json schema_of(Bool /*kind*/) {
  return {{"type", "boolean"}};
}
inline ordered_json schema_of(Int kind) {
  ordered_json schema{{"type", "integer"}, {"format", "int32"}, {"minimum", kind.least}};
  if (kind.most != INT_MAX) schema["maximum"] = kind.most;
  return schema;
}
inline ordered_json schema_of(Number kind) {
  return {{"type", "number"}, {"minimum", number_of(kind.least)}, {"maximum", number_of(kind.most)}};
}

template <class Object>
ordered_json object_schema();

// Atomic: a list is written whole, and managedFields stay at one line instead of some hundred per object.
inline ordered_json list_schema(int most, ordered_json items) {
  return {{"type", "array"},
          {"x-kubernetes-list-type", "atomic"},
          {"maxItems", most},
          {"items", std::move(items)}};
}
template <class Value>
ordered_json schema_of(const Texts<Value>& kind) {
  ordered_json schema = list_schema(kind.most, schema_of(kind.item));
  if (kind.least > 0) schema["minItems"] = kind.least;
  return schema;
}
template <class Object>
ordered_json schema_of(Objects<Object> kind) {
  return list_schema(kind.most, object_schema<Object>());
}

template <class Kind>
void add_field(ordered_json& schema, std::string_view name, const std::string& means, const Kind& kind) {
  ordered_json& field = schema["properties"][std::string(name)] = {{"description", means}};
  field.update(schema_of(kind));
}
template <class Value>
void add_field(ordered_json& schema, std::string_view name, const std::string& means,
               const TextsOrOlder<Value>& kind) {
  const std::string older(kind.older_name);
  add_field(schema, name, means, kind.texts);
  add_field(schema, older, std::string(kind.older_means), kind.older);
  schema["x-kubernetes-validations"].push_back(
      {{"rule", "!has(self." + std::string(name) + ") || !has(self." + older + ")"},
       {"message", "has " + std::string(name) + " or " + older + ", its older form, but not both"}});
}

template <class Object, class Member, class Kind>
void add_property(ordered_json& schema, const Field<Object, Member, Kind>& field) {
  if (is_required<Member>) schema["required"].push_back(field.name);
  const bool tells = !is_required<Member> && field.absent != "unknown";
  add_field(schema, field.name,
            std::string(field.means) + (tells ? " Absent means " + std::string(field.absent) + "." : ""),
            field.kind);
}

template <class Object>
ordered_json object_schema() {
  ordered_json schema{{"type", "object"}, {"required", ordered_json::array()}};
  each_field<Object>([&](const auto& field) { add_property(schema, field); });
  if (schema["required"].empty()) schema.erase("required");
  return schema;
}

// Sentences about the form of a value, in Markdown.

template <class Value>
std::string form_of(const Text<Value>& kind) {
  return std::string(kind.form) + (kind.may_be_empty ? " `\"\"`: known to be none." : "");
}
template <class Enum>
std::string form_of(Word<Enum> /*kind*/) {
  std::string words;
  for (const auto& [word, meaning] : described::words_of<Enum>)
    words.append(words.empty() ? "`" : ", `").append(word).append("`");
  return words + ".";
}
inline std::string form_of(Time /*kind*/) {
  return "RFC 3339.";
}
inline std::string form_of(Bool /*kind*/) {
  return "`true`, `false`.";
}
inline std::string form_of(Int kind) {
  return kind.most == INT_MAX ? "" : std::to_string(kind.least) + " to " + std::to_string(kind.most) + ".";
}
inline std::string form_of(Number kind) {
  return number_of(kind.least).dump() + " to " + number_of(kind.most).dump() + ", fractions allowed.";
}
template <class Value>
std::string form_of(const Texts<Value>& kind) {
  return std::string(kind.item.form) + " At most " + std::to_string(kind.most) + ".";
}
template <class Object>
std::string form_of(Objects<Object> kind) {
  return "At most " + std::to_string(kind.most) + ".";
}

inline void add_row(std::string& table, std::string_view name, bool required, std::string_view means,
                    const std::string& form, std::string_view absent) {
  std::string value(means);
  for (auto bar = value.find('|'); bar != value.npos; bar = value.find('|', bar + 2)) value.insert(bar, "\\");
  table.append("| `").append(name).append("` | ").append(required ? "**required.** " : "").append(value);
  table.append(form.empty() ? "" : " ").append(form).append(" | ");
  table.append(required ? "refused" : absent).append(" |\n");
}
template <class Kind>
void add_rows(std::string& table, std::string_view name, bool required, std::string_view means,
              std::string_view absent, const Kind& kind) {
  add_row(table, name, required, means, form_of(kind), absent);
}
template <class Value>
void add_rows(std::string& table, std::string_view name, bool required, std::string_view means,
              std::string_view absent, const TextsOrOlder<Value>& kind) {
  add_row(table, name, required, means, form_of(kind.texts), absent);
  add_row(table, kind.older_name, false, kind.older_means, form_of(kind.older), absent);
}

template <class Object>
std::string field_table() {
  std::string table = "| field | value | absent means |\n|---|---|---|\n";
  each_field<Object>([&]<class Member, class Kind>(const Field<Object, Member, Kind>& field) {
    add_rows(table, field.name, is_required<Member>, field.means, field.absent, field.kind);
  });
  return table;
}

// Adds what a fuzzer cannot guess: names of fields, words and examples, each once and in order.

using Entries = std::vector<std::string>;
inline void add_once(Entries& to, std::string_view text) {
  if (std::find(to.begin(), to.end(), text) == to.end()) to.emplace_back(text);
}

template <class Value>
void words_in(const Text<Value>& kind, Entries& to) {
  add_once(to, kind.example);
}
template <class Enum>
void words_in(Word<Enum> /*kind*/, Entries& to) {
  for (const auto& [word, meaning] : described::words_of<Enum>) add_once(to, word);
}
inline void words_in(Time /*kind*/, Entries& to) {
  add_once(to, "2026-11-20T08:00:00Z");
}
inline void words_in(Bool /*kind*/, Entries& /*to*/) {}
inline void words_in(Int /*kind*/, Entries& /*to*/) {}
inline void words_in(Number /*kind*/, Entries& /*to*/) {}
template <class Object>
void words_of_object(Entries& to);
template <class Value>
void words_in(const Texts<Value>& kind, Entries& to) {
  words_in(kind.item, to);
}
template <class Object>
void words_in(Objects<Object> /*kind*/, Entries& to) {
  words_of_object<Object>(to);
}
template <class Value>
void words_in(const TextsOrOlder<Value>& kind, Entries& to) {
  words_in(kind.texts, to);
  add_once(to, kind.older_name);
  words_in(kind.older, to);
}
template <class Object>
void words_of_object(Entries& to) {
  each_field<Object>([&](const auto& field) {
    add_once(to, field.name);
    words_in(field.kind, to);
  });
}

// A value that the reader takes. `older`: lists that have an older form are in it.

template <class Value>
ordered_json example_of(const Text<Value>& kind, bool /*older*/) {
  return kind.example;
}
template <class Enum>
ordered_json example_of(Word<Enum> /*kind*/, bool /*older*/) {
  return described::words_of<Enum>[0].first;
}
inline ordered_json example_of(Time /*kind*/, bool /*older*/) {
  return "2026-11-20T08:00:00Z";
}
inline ordered_json example_of(Bool /*kind*/, bool /*older*/) {
  return true;
}
inline ordered_json example_of(Int kind, bool /*older*/) {
  return kind.example;
}
inline ordered_json example_of(Number kind, bool /*older*/) {
  return number_of(kind.example);
}
template <class Object>
ordered_json example(bool older = false);
template <class Value>
ordered_json example_of(const Texts<Value>& kind, bool older) {
  return ordered_json::array({example_of(kind.item, older)});
}
template <class Object>
ordered_json example_of(Objects<Object> /*kind*/, bool older) {
  return ordered_json::array({example<Object>(older)});
}

template <class Kind>
void add_example(ordered_json& object, std::string_view name, const Kind& kind, bool older) {
  object[std::string(name)] = example_of(kind, older);
}
template <class Value>
void add_example(ordered_json& object, std::string_view name, const TextsOrOlder<Value>& kind, bool older) {
  if (older) return add_example(object, kind.older_name, kind.older, older);
  add_example(object, name, kind.texts, older);
}
template <class Object>
ordered_json example(bool older) {
  ordered_json object = ordered_json::object();
  each_field<Object>([&](const auto& field) { add_example(object, field.name, field.kind, older); });
  return object;
}

}  // namespace nccl_env::generate
