// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/fabric/gid.h"

#include <arpa/inet.h>

#include <algorithm>

#include "nccl_env/core/text/strict.h"
#include "nccl_env/hex.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

using Bytes = std::array<std::uint8_t, 16>;

constexpr Bytes kV4Mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr int kV4Start = 96;  // bits before the IPv4 address in the mapped form

bool same_prefix(const Bytes& a, const Bytes& b, int bits) {
  const auto whole = bits / 8;
  if (!std::equal(a.begin(), a.begin() + whole, b.begin())) return false;
  if (bits % 8 == 0) return true;
  const auto at = static_cast<std::size_t>(whole);
  return ((a[at] ^ b[at]) >> (8 - bits % 8)) == 0;
}

// inet_pton takes no zone, bracket, blank or trailing text, but it stops at a NUL.
bool read_address(int family, std::string_view text, void* out) {
  std::array<char, INET6_ADDRSTRLEN> ended{};
  if (text.size() >= ended.size() || text.find('\0') != text.npos) return false;
  std::copy(text.begin(), text.end(), ended.begin());
  return inet_pton(family, ended.data(), out) == 1;
}

}  // namespace

bool IpAddress::is_v4() const {
  return same_prefix(bytes, kV4Mapped, kV4Start);
}

Result<IpAddress> parse_ip(std::string_view text) {
  IpAddress address{kV4Mapped};
  const bool v6 = text.find(':') != text.npos;
  if (read_address(v6 ? AF_INET6 : AF_INET, text, address.bytes.data() + (v6 ? 0 : kV4Start / 8)))
    return address;
  return Error{in_quotes(text) + " is not an IPv4 or IPv6 address"};
}

std::string format_ip(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool v4 = address.is_v4();
  const auto* start = address.bytes.data() + (v4 ? kV4Start / 8 : 0);
  return inet_ntop(v4 ? AF_INET : AF_INET6, start, text.data(), text.size());
}

bool Cidr::contains(const IpAddress& other) const {
  const bool v4 = address.is_v4();
  return v4 == other.is_v4() && same_prefix(address.bytes, other.bytes, prefix + (v4 ? kV4Start : 0));
}

Cidr Cidr::network() const {
  Cidr result = *this;
  const int bits = prefix + (address.is_v4() ? kV4Start : 0);
  for (int at = 0; at < 16; ++at) {
    const int kept = std::clamp(bits - at * 8, 0, 8);
    result.address.bytes[static_cast<std::size_t>(at)] &= static_cast<std::uint8_t>(0xff00U >> kept);
  }
  return result;
}

Result<Cidr> parse_cidr(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == text.npos) return Error{in_quotes(text) + " has no /PREFIX"};
  const auto address = parse_ip(text.substr(0, slash));
  if (!address) return address.error();
  const bool v4 = address->is_v4();
  if (v4 && text.find(':') < slash)
    return Error{in_quotes(text) + " is an IPv4 prefix in IPv6 form: write it as " + format_ip(*address) +
                 "/PREFIX"};
  const auto prefix = plain_decimal(text.substr(slash + 1));
  const int longest = v4 ? 32 : 128;
  if (prefix && *prefix >= 0 && *prefix <= longest) return Cidr{*address, static_cast<int>(*prefix)};
  return Error{in_quotes(text) + " has no prefix length from 0 to " + std::to_string(longest)};
}

std::string format_cidr(const Cidr& cidr) {
  return format_ip(cidr.address) + "/" + std::to_string(cidr.prefix);
}

bool Gid::is_zero() const {
  return bytes == Bytes{};
}
bool Gid::is_link_local() const {
  return same_prefix(bytes, {0xfe, 0x80}, 10);
}
bool Gid::is_v4_mapped() const {
  return same_prefix(bytes, kV4Mapped, kV4Start);
}

bool Gid::is_v4_link_local() const {
  return is_v4_mapped() && bytes[12] == 169 && bytes[13] == 254;
}

Result<Gid> parse_gid(std::string_view text) {
  Gid gid;
  if (read_address(AF_INET6, text, gid.bytes.data())) return gid;
  return Error{in_quotes(text) + " is not a GID: eight groups of hex digits, or a short IPv6 form"};
}

std::string format_gid(const Gid& gid) {
  std::string text;
  for (std::size_t at = 0; at < gid.bytes.size(); ++at) {
    if (at > 0 && at % 2 == 0) text += ':';
    append_hex(text, gid.bytes[at]);
  }
  return text;
}

}  // namespace nccl_env
