// SPDX-License-Identifier: Apache-2.0
#include "policy/fields.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "nccl_env/core/text/glob.h"
#include "nccl_env/core/text/spelling.h"
#include "nccl_env/core/text/strict.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestGlob = 320;  // an extended resource name: 253 + '/' + 63, and room for brackets

std::string expected(std::string_view what, const Json& found) {
  return "expected " + std::string(what) + ", found " + describe(found);
}

bool is_plain_word(std::string_view name) {
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::optional<std::int64_t> signed_integer(const Json& value) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<std::int64_t>();
}

}  // namespace

std::string describe(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "nothing (null)";
    case Json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    case Json::value_t::string:
      return "the string " + in_quotes(value.get_ref<const std::string&>());
    case Json::value_t::array:
      return "a list";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
      return "the number " + value.dump();
    case Json::value_t::binary:
    case Json::value_t::discarded:
      break;
  }
  return "something else";
}

std::string path_of(std::string_view parent, std::string_view field) {
  if (!is_plain_word(field)) return std::string(parent) + '[' + in_quotes(field) + ']';
  return parent.empty() ? std::string(field) : std::string(parent) + '.' + std::string(field);
}

std::string path_of(std::string_view parent, std::size_t index) {
  return std::string(parent) + '[' + std::to_string(index) + ']';
}

std::string one_of(std::span<const std::string_view> words) {
  std::string out = "one of ";
  for (const std::string_view word : words) out += (word == words.front() ? "" : ", ") + std::string(word);
  return out;
}

Fields::Fields(const Json& object, std::string path, std::span<const std::string_view> accepted,
               Findings& findings)
    : object_(object), path_(std::move(path)), findings_(findings) {
  for (const auto& item : object_.items()) {
    const std::string& name = item.key();
    if (std::find(accepted.begin(), accepted.end(), name) != accepted.end()) continue;
    if (findings_.is_full()) return;
    const std::string_view meant = nearest(name, accepted);
    findings_.error(path_of(path_, name), meant.empty()
                                              ? "unknown field: accepted is " + one_of(accepted)
                                              : "unknown field: do you mean " + std::string(meant) + "?");
  }
}

const Json* Fields::find(std::string_view name) const {
  const auto found = object_.find(name);
  return found == object_.end() ? nullptr : &*found;
}

void Fields::boolean(std::string_view name, bool& out) const {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (value->is_boolean()) {
    out = value->get<bool>();
  } else {
    findings_.error(path(name), expected("true or false", *value));
  }
}

void Fields::integer(std::string_view name, std::int64_t min, std::int64_t max,
                     std::optional<std::int64_t>& out) const {
  const Json* value = find(name);
  if (value == nullptr) return;
  const auto number = signed_integer(*value);
  if (number && *number >= min && *number <= max) {
    out = number;
    return;
  }
  const std::string range = max == INT64_MAX
                                ? "an integer of at least " + std::to_string(min)
                                : "an integer in " + std::to_string(min) + ".." + std::to_string(max);
  findings_.error(path(name), expected(range, *value));
}

void Fields::positive(std::string_view name, std::optional<double>& out) const {
  const Json* value = find(name);
  if (value == nullptr) return;
  const double number = value->is_number() ? value->get<double>() : 0;
  if (std::isfinite(number) && number > 0) {
    out = number;
  } else {
    findings_.error(path(name), expected("a number above 0", *value));
  }
}

std::optional<std::string> Fields::text(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  findings_.error(path(name), expected("a string", *value));
  return std::nullopt;
}

std::optional<std::size_t> Fields::word(std::string_view name,
                                        std::span<const std::string_view> words) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) {
    const auto found = std::find(words.begin(), words.end(), value->get_ref<const std::string&>());
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  }
  findings_.error(path(name), expected(one_of(words), *value));
  return std::nullopt;
}

const Json* Fields::object(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr || value->is_object()) return value;
  findings_.error(path(name), expected("an object", *value));
  return nullptr;
}

void Fields::items(std::string_view name, int most,
                   const std::function<void(const Json& item, const std::string& item_path)>& each) const {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_array()) {
    findings_.error(path(name), expected("a list", *value));
  } else if (value->size() > static_cast<std::size_t>(most)) {
    findings_.error(path(name), std::to_string(value->size()) + " entries: at most " + std::to_string(most));
  } else {
    for (std::size_t i = 0; i < value->size(); ++i) each((*value)[i], path_of(path(name), i));
  }
}

std::optional<std::string> name_glob_problem(std::string_view glob) {
  if (glob.empty()) return "is empty, and matches nothing";
  if (glob.size() > kLongestGlob) return "has more than 320 bytes";
  if (!is_printable_ascii(glob) || glob.find(' ') != std::string_view::npos) {
    return in_quotes(glob) + " holds a blank or a character that is not printable ASCII";
  }
  return glob_problem(glob);
}

}  // namespace nccl_env
