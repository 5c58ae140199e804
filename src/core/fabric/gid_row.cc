// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/fabric/gid_row.h"

#include <algorithm>
#include <array>

#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/strict.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

constexpr std::size_t kMaxRow = 128;  // the longest row that is written has 103
constexpr std::array kTypes{GidType::IB, GidType::RoCEv1, GidType::RoCEv2};

// The first word; the rest begins behind the blank that follows it.
std::string_view take_word(std::string_view& rest) {
  const std::string_view word = rest.substr(0, rest.find(' '));
  rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  return word;
}

bool take_word(std::string_view& rest, std::string_view expected) {
  if (rest.empty() || rest.front() != expected.front() || !rest.starts_with(expected)) return false;
  const std::string_view behind = rest.substr(expected.size());
  if (!behind.empty() && behind.front() != ' ') return false;
  rest = behind.substr(behind.empty() ? 0 : 1);
  return true;
}

// Writes ::ffff:25.11.128.2 for a GID that carries an IPv4 address.
std::string short_gid(const Gid& gid) {
  return (gid.is_v4_mapped() ? "::ffff:" : "") + format_ip(gid.address());
}

}  // namespace

Result<GidRow> parse_gid_row(std::string_view text) {
  if (text.size() > kMaxRow || text.ends_with(' '))
    return Error{in_quotes(text) + " is not a GID row such as 3 RoCEv2 25.11.128.2 dev eth1"};
  GidRow row;
  const std::string_view first = take_word(text);
  const auto index = plain_decimal(first);
  if (!index || *index < 0 || *index > kMaxGidIndex)
    return Error{in_quotes(first) + " is not an index from 0 to " + std::to_string(kMaxGidIndex)};
  row.index = static_cast<int>(*index);
  for (const GidType type : kTypes) {
    if (!row.type && take_word(text, to_string(type))) row.type = type;
  }
  if (take_word(text, "gid")) {
    const auto gid = parse_gid(take_word(text));
    if (!gid) return gid.error();
    row.gid = *gid;
  } else {
    const std::string_view word = take_word(text);
    const auto address = parse_ip(word);
    const bool is_type = !row.type && !word.empty() && word.find_first_of(".:") == word.npos;
    if (!address && is_type)
      return Error{in_quotes(word) + " is not a type of GID, only " +
                   join(kTypes, ", ", [](GidType type) { return to_string(type); })};
    if (!address) return address.error();
    row.gid = {address->bytes};
    row.address = *address;
  }
  if (take_word(text, "dev")) {
    const std::string_view name = take_word(text);
    if (!is_netdev_name(name)) return Error{in_quotes(name) + " is not an interface name"};
    row.netdev = name;
  }
  if (take_word(text, "since")) {
    const auto since = parse_timestamp(take_word(text));
    if (!since) return since.error();
    row.index_since = *since;
  }
  if (!text.empty()) return Error{in_quotes(text) + " does not belong at the end of a GID row"};
  return row;
}

std::string format_gid_row(const GidRow& row) {
  std::string text = std::to_string(row.index);
  if (row.type) text.append(" ").append(to_string(*row.type));
  text += row.address ? " " + format_ip(*row.address) : " gid " + short_gid(row.gid);
  if (row.netdev) text += " dev " + *row.netdev;
  if (row.index_since) text += " since " + format_timestamp(*row.index_since);
  return text;
}

}  // namespace nccl_env
