// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/fabric/description.h"

#include <algorithm>

#include "nccl_env/core/text/strict.h"
#include "text/quote.h"

namespace nccl_env {

std::string_view to_string(LinkLayer value) {
  return described::word_of(value);
}
std::string_view to_string(Transport value) {
  return described::word_of(value);
}
std::string_view to_string(PortState value) {
  return described::word_of(value);
}
std::string_view to_string(GidType value) {
  return described::word_of(value);
}
std::string_view to_string(RdmaNamespaceMode value) {
  return described::word_of(value);
}
std::string_view to_string(Unavailable value) {
  return described::word_of(value);
}

}  // namespace nccl_env

namespace nccl_env::described::table {

Result<std::string> parse_printable(std::string_view text) {
  if (is_printable_ascii(text) && !text.empty() &&
      text.size() <= static_cast<std::size_t>(kPrintable.longest))
    return std::string(text);
  return Error{in_quotes(text) + " is not 1 to " + std::to_string(kPrintable.longest) +
               " printable ASCII characters"};
}

Result<std::string> parse_hca(std::string_view text) {
  if (is_hca_name(text)) return std::string(text);
  return Error{in_quotes(text) + " is not an RDMA device name: letters, digits, '_', '.', '-', at most 63"};
}

Result<std::string> parse_netdev(std::string_view text) {
  if (is_netdev_name(text)) return std::string(text);
  return Error{in_quotes(text) +
               " is not an interface name: 1 to 15 characters without blanks or any of / , : ^ ="};
}

constexpr auto kIsPriority = [](char c) { return c >= '0' && c <= '7'; };

Result<std::string> parse_priorities(std::string_view text) {
  if (std::ranges::all_of(text, kIsPriority) && text.size() <= 8) return std::string(text);
  return Error{in_quotes(text) + " is not a list of priorities, 0 to 7 without blanks"};
}

Result<std::string> parse_dscp_priorities(std::string_view text) {
  const auto is_known = [](char c) { return c == '-' || kIsPriority(c); };
  if (text.size() == kDscps && std::ranges::all_of(text, is_known)) return std::string(text);
  return Error{in_quotes(text) + " is not a priority, 0 to 7 or '-', for each of 64 DSCPs"};
}

Result<std::string> parse_label_key(std::string_view text) {
  if (is_label_key(text)) return std::string(text);
  return Error{in_quotes(text) + " is not a label's key such as topology.kubernetes.io/zone"};
}

Result<std::string> parse_label_value(std::string_view text) {
  if (is_label_value(text)) return std::string(text);
  return Error{in_quotes(text) + " is not a label's value: letters, digits, '_', '.', '-', at most 63"};
}

Result<InterfaceAddress> parse_interface_address(std::string_view text) {
  const auto cidr = parse_cidr(text);
  if (!cidr) return cidr.error();
  return InterfaceAddress{cidr->address, cidr->prefix};
}

std::string format_interface_address(const InterfaceAddress& address) {
  return format_cidr({address.address, address.prefix});
}

std::string format_key(const std::uint16_t& key) {
  return format_partition_key(key);
}

std::string same(const std::string& text) {
  return text;
}

}  // namespace nccl_env::described::table
