// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/text/strict.h"

#include <algorithm>
#include <charconv>

#include "nccl_env/json_text.h"

namespace nccl_env {
namespace {

bool is_label_character(char c) {
  return is_lower_letter(c) || is_digit(c);
}

bool is_dns_label(std::string_view label) {
  return !label.empty() && is_label_character(label.front()) && is_label_character(label.back()) &&
         std::all_of(label.begin(), label.end(), [](char c) { return is_label_character(c) || c == '-'; });
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = lower(c);
  return result;
}

bool is_printable_ascii(std::string_view text) {
  constexpr std::uint64_t kEach = 0x0101010101010101, kHigh = kEach * 0x80;
  std::uint64_t others = 0;  // their bytes' high bits are set
  for (; text.size() >= json::kWord; text.remove_prefix(json::kWord)) {
    const std::uint64_t word = json::word_at(text.data()), low = word & ~kHigh;
    others |= word | (low + kEach) | ~(low + kEach * (0x80 - ' '));
  }
  return (others & kHigh) == 0 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool is_variable_name(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_upper_letter(c) || is_digit(c) || c == '_'; });
}

std::optional<std::int64_t> plain_decimal(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.empty() || (digits.front() == '0' && text != "0")) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_dns_subdomain(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  while (true) {
    const std::size_t dot = name.find('.');
    if (!is_dns_label(name.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

std::string_view without_trailing_slashes(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

std::string_view prefix_of(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  while (bytes > 0 && continues(text[bytes])) --bytes;
  return text.substr(0, bytes);
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace nccl_env
