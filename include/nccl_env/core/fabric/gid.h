// SPDX-License-Identifier: Apache-2.0
// GIDs and the IP addresses they carry. A RoCE GID is an IPv6 address; an IPv4 address travels as
// ::ffff:a.b.c.d (InfiniBand Architecture annex A17, "RoCEv2").
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "nccl_env/result.h"

namespace nccl_env {

// An IPv4 or IPv6 address. IPv4 is held in its mapped form, so that one comparison serves both.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};  // network order; IPv4 as ::ffff:a.b.c.d

  [[nodiscard]] bool is_v4() const;
  auto operator<=>(const IpAddress&) const = default;
};

// Text forms: dotted quad, or any RFC 4291 form. No zone, no brackets, no blanks.
Result<IpAddress> parse_ip(std::string_view text);
// Dotted quad for IPv4, RFC 5952 for IPv6.
std::string format_ip(const IpAddress& address);

struct Cidr {
  IpAddress address;
  int prefix = 0;  // 0-32 for IPv4, 0-128 for IPv6

  [[nodiscard]] bool contains(const IpAddress& other) const;  // false across families
  // The same prefix with the host bits zero: 25.11.128.2/27 -> 25.11.128.0/27.
  [[nodiscard]] Cidr network() const;
  auto operator<=>(const Cidr&) const = default;
};

Result<Cidr> parse_cidr(std::string_view text);  // "ADDRESS/PREFIX"
std::string format_cidr(const Cidr& cidr);

struct Gid {
  std::array<std::uint8_t, 16> bytes{};

  [[nodiscard]] bool is_zero() const;
  [[nodiscard]] bool is_link_local() const;     // fe80::/10
  [[nodiscard]] bool is_v4_mapped() const;      // ::ffff:0:0/96
  [[nodiscard]] bool is_v4_link_local() const;  // ::ffff:169.254.0.0/112
  // The address that the GID stands for, as it is (also zero and link-local ones).
  [[nodiscard]] IpAddress address() const { return {bytes}; }
  auto operator<=>(const Gid&) const = default;
};

// Eight groups of four hex digits as sysfs prints them, or any other RFC 4291 form (ibv_devinfo prints
// "::ffff:10.0.0.1"). Upper or lower case.
Result<Gid> parse_gid(std::string_view text);
// Eight groups of four lower-case hex digits.
std::string format_gid(const Gid& gid);

}  // namespace nccl_env
