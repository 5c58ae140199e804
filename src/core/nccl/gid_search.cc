// SPDX-License-Identifier: Apache-2.0
#include "nccl/gid_search.h"

#include <algorithm>

#include "nccl/changes.h"
#include "nccl/environment.h"
#include "nccl_env/core/nccl/variables.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

constexpr std::size_t kRangeBuffer = 128;  // char addrString[128], with its NUL

std::optional<IpAddress> parse_address_of(GidFamily family, std::string_view text) {
  const bool written_as_v6 = text.find(':') != std::string_view::npos;
  const auto address = parse_ip(text);
  if (!address || written_as_v6 != (family == GidFamily::V6)) {
    return std::nullopt;
  }
  return *address;
}

std::string range_note(std::string_view text, std::string_view what) {
  return std::string(variable::kIbAddrRange) + "=" + in_quotes(text) + " " + std::string(what) + ".";
}

std::optional<GidRange> read_range(std::string_view text, GidFamily family, std::vector<std::string>& notes) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    notes.push_back(range_note(text, "has no prefix length, and NCCL ignores it silently"));
    return std::nullopt;
  }
  const auto address = parse_address_of(family, text.substr(0, slash));
  if (!address) {
    notes.push_back(range_note(text, family == GidFamily::V4 ? "is not an IPv4 range, and NCCL ignores it"
                                                             : "is not an IPv6 range, and NCCL ignores it"));
    return std::nullopt;
  }
  GidRange range{*address, nccl_atoi(text.substr(slash + 1))};
  if (range.prefix > (family == GidFamily::V4 ? 32 : 128)) {
    notes.push_back(range_note(text, "has too long a prefix, and NCCL ignores it"));
    return std::nullopt;
  }
  if (text.find(',') != std::string_view::npos) {
    notes.push_back(range_note(text, "is a list, of which NCCL reads only the first range"));
  }
  if (range.prefix < 0) {
    notes.push_back(range_note(text, "has a negative prefix length and matches nothing"));
  }
  return range;
}

}  // namespace

bool GidWish::in_range(const Gid& gid) const {
  if (!range || range->prefix <= 0) {
    return !range || range->prefix == 0;
  }
  const std::size_t first = family == GidFamily::V4 ? 12 : 0;
  const auto bits = static_cast<std::size_t>(range->prefix);
  for (std::size_t bit = 0; bit < bits; ++bit) {
    const std::size_t byte = first + bit / 8;
    const unsigned mask = 0x80U >> (bit % 8);
    if (((gid.bytes[byte] ^ range->address.bytes[byte]) & mask) != 0) {
      return false;
    }
  }
  return true;
}

std::optional<GidWish> read_gid_wish(const NcclEnv& env, const NcclVersion& version,
                                     std::vector<std::string>& notes) {
  GidWish wish;
  wish.family =
      nccl_getenv_or_empty(env, variable::kIbAddrFamily) == "AF_INET6" ? GidFamily::V6 : GidFamily::V4;
  wish.version = static_cast<int>(nccl_parameter(env, variable::kIbRoceVersionNum, 2));
  const std::string_view text = nccl_getenv_or_empty(env, variable::kIbAddrRange).substr(0, kRangeBuffer - 1);
  if (text.empty()) {
    return wish;
  }
  if (version < nccl_since::kRangeWithoutSlash && text.find('/') == std::string_view::npos) {
    notes.push_back(range_note(text, "has no prefix length, which crashes NCCL 2.21.5 and 2.22.3"));
    return std::nullopt;
  }
  wish.range = read_range(text, wish.family, notes);
  return wish;
}

}  // namespace nccl_env
