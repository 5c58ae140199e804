// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/fabric/node_fabric.h"

#include <algorithm>
#include <charconv>

#include "nccl_env/core/text/strict.h"
#include "nccl_env/hex.h"
#include "text/quote.h"

namespace nccl_env {

bool is_hca_name(std::string_view name) {
  return !name.empty() && name.size() <= 63 && is_alphanumeric(name[0]) &&
         std::ranges::all_of(name,
                             [](char c) { return is_alphanumeric(c) || c == '_' || c == '.' || c == '-'; });
}

namespace {

// An HCA's name that ends as it begins.
bool is_label_name(std::string_view name) {
  return is_hca_name(name) && is_alphanumeric(name.back());
}

bool all_hex(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_hex_digit);
}

}  // namespace

std::optional<std::uint16_t> parse_pkey(std::string_view text) {
  std::uint16_t key = 0;
  const std::string_view digits = text.starts_with("0x") ? text.substr(2) : "";
  const auto* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, key, 16);
  return digits.size() == 4 && read.ec == std::errc() && read.ptr == end ? std::optional(key) : std::nullopt;
}

Result<std::uint16_t> parse_partition_key(std::string_view text) {
  if (const auto key = parse_pkey(text); key && (*key & 0x7fffU) != 0) return *key;
  return Error{in_quotes(text) + " is not a partition key such as 0x8001"};
}

std::string format_partition_key(std::uint16_t key) {
  std::string text = "0x";
  append_hex(text, static_cast<std::uint8_t>(key >> 8U));
  append_hex(text, static_cast<std::uint8_t>(key & 0xffU));
  return text;
}

bool is_netdev_name(std::string_view name) {
  return !name.empty() && name.size() <= 15 && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return c > ' ' && c <= '~' && c != '/' && c != ',' && c != ':' && c != '^' && c != '=';
         });
}

bool is_label_key(std::string_view key) {
  const auto slash = key.find('/');
  if (slash == key.npos) return is_label_name(key);
  return is_dns_subdomain(key.substr(0, slash)) && is_label_name(key.substr(slash + 1));
}

bool is_label_value(std::string_view value) {
  return value.empty() || is_label_name(value);
}

// DDDD:BB:DD.F, as Linux writes it; a domain beyond 16 bits (VMD) has more digits.
Result<std::string> parse_pci_address(std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view domain = text.substr(0, colon);
  const std::string_view rest = colon == text.npos ? "" : text.substr(colon + 1);
  const bool shape = domain.size() >= 4 && domain.size() <= 8 && all_hex(domain) && rest.size() == 7 &&
                     all_hex(rest.substr(0, 2)) && rest[2] == ':' && all_hex(rest.substr(3, 2)) &&
                     rest[3] <= '1' && rest[5] == '.' && rest[6] >= '0' && rest[6] <= '7';
  if (shape) return lower_case(text);
  return Error{in_quotes(text) + " is not a PCI address such as 0000:53:00.0"};
}

Result<std::string> parse_guid(std::string_view text) {
  bool shape = text.size() == 19;
  for (std::size_t at = 0; shape && at < text.size(); ++at) {
    shape = at % 5 == 4 ? text[at] == ':' : all_hex(text.substr(at, 1));
  }
  if (shape) return lower_case(text);
  return Error{in_quotes(text) + " is not a GUID such as b83f:d203:00b4:f5a2"};
}

}  // namespace nccl_env
