// SPDX-License-Identifier: Apache-2.0
// Bounds of text from people and files: its characters, names and numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nccl_env {

// Judge ASCII, whatever the locale.
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_lower_letter(char c) {
  return c >= 'a' && c <= 'z';
}
constexpr bool is_upper_letter(char c) {
  return c >= 'A' && c <= 'Z';
}
constexpr bool is_alphanumeric(char c) {
  return is_digit(c) || is_lower_letter(c) || is_upper_letter(c);
}
constexpr bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
constexpr char lower(char c) {
  return is_upper_letter(c) ? static_cast<char>(c - 'A' + 'a') : c;
}
std::string lower_case(std::string_view text);

bool is_printable_ascii(std::string_view text);
// "NCCL_IB_HCA": capital letters, digits and underscores.
bool is_variable_name(std::string_view text);

// -12, 0, 7: no blanks, no plus, no leading zero (NCCL reads 022 as octal), no other base.
std::optional<std::int64_t> plain_decimal(std::string_view text);

// DNS-1123 subdomain, as Kubernetes requires for metadata.name: safe as a part of a file's name or a URL's
// path.
bool is_dns_subdomain(std::string_view name);

// "/dev/" is the path "/dev"; "/" stays.
std::string_view without_trailing_slashes(std::string_view path);

// The beginning of a UTF-8 text: at most `bytes` bytes, and only whole characters.
std::string_view prefix_of(std::string_view text, std::size_t bytes);

// Removes the character from the front; false if something else stands there.
bool take(std::string_view& text, char c);

}  // namespace nccl_env
