// SPDX-License-Identifier: Apache-2.0
#include "yaml_scalar.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace nccl_env {
namespace {

using nlohmann::json;

constexpr std::string_view kDigits = "0123456789";

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool all_of_set(std::string_view text, std::string_view set) {
  return !text.empty() && text.find_first_not_of(set) == text.npos;
}

std::string_view take_digits(std::string_view& text) {
  const auto digits = text.substr(0, text.find_first_not_of(kDigits));
  text.remove_prefix(digits.size());
  return digits;
}

// (\.[0-9]+ | [0-9]+(\.[0-9]*)?) ([eE][-+]?[0-9]+)?
bool is_float(std::string_view text) {
  const bool whole = !take_digits(text).empty();
  bool fraction = false;
  const bool point = text.starts_with('.');
  if (point) {
    text.remove_prefix(1);
    fraction = !take_digits(text).empty();
  }
  if (!whole && !fraction) return false;
  if (text.empty()) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  text.remove_prefix(1);
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return all_of_set(text, kDigits);
}

std::optional<json> whole_number(std::string_view digits, int base, bool negative) {
  std::uint64_t value = 0;
  const auto* end = digits.data() + digits.size();
  if (std::from_chars(digits.data(), end, value, base).ec != std::errc()) return std::nullopt;
  if (!negative) return json(value);
  if (value > std::uint64_t{1} << 63U) return std::nullopt;
  return json(static_cast<std::int64_t>(~value + 1));
}

Result<json> floating(std::string_view digits, bool negative) {
  double value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (read.ec != std::errc()) return Error{"the number is out of range"};
  return json(negative ? -value : value);
}

}  // namespace

Result<json> resolve_plain_scalar(std::string_view text) {
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) return json(nullptr);
  if (is_one_of(text, {"true", "True", "TRUE"})) return json(true);
  if (is_one_of(text, {"false", "False", "FALSE"})) return json(false);
  if (text.starts_with("0o") && all_of_set(text.substr(2), "01234567")) {
    if (auto value = whole_number(text.substr(2), 8, false)) return *std::move(value);
    return Error{"the number is out of range"};
  }
  if (text.starts_with("0x") && all_of_set(text.substr(2), "0123456789abcdefABCDEF")) {
    if (auto value = whole_number(text.substr(2), 16, false)) return *std::move(value);
    return Error{"the number is out of range"};
  }
  const bool negative = text.starts_with('-');
  const auto number = negative || text.starts_with('+') ? text.substr(1) : text;
  if (all_of_set(number, kDigits)) {
    if (auto value = whole_number(number, 10, negative)) return *std::move(value);
  }
  if (is_float(number)) return floating(number, negative);
  if (is_one_of(number, {".inf", ".Inf", ".INF"}) || is_one_of(text, {".nan", ".NaN", ".NAN"})) {
    return Error{"JSON has no such number; put it in quotes if it is meant as text"};
  }
  return json(std::string(text));
}

}  // namespace nccl_env
