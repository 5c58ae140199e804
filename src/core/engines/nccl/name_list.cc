// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/engines/nccl/name_list.h"

#include <algorithm>
#include <cstdint>

#include "nccl_env/core/engines/nccl/environment.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

constexpr std::size_t kPrefixSize = 64;  // char prefix[64] of struct netIf, with its NUL

// Takes everything before the separator, and drops the separator.
std::string_view take_until(std::string_view& text, char separator) {
  const std::string_view head = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), head.size() + 1));
  return head;
}

// Fields behind the name's ':'. Absent and empty ones are "any".
void read_fields(std::string_view fields, NcclNameList::Entry& entry) {
  const auto number = [&fields] {
    const std::string_view field = take_until(fields, ':');
    return field.empty() ? -1 : nccl_atoi(field);
  };
  entry.port = number();
  entry.rail = static_cast<std::int16_t>(number());
  entry.plane = static_cast<std::int16_t>(number());
}

// Up to 2.30.4 the port is atoi of everything after the first ':', so that an empty one is 0.
NcclNameList::Entry read_entry(std::string_view text, const NcclVersion& version) {
  NcclNameList::Entry entry;
  const bool has_fields = text.find(':') != std::string_view::npos;
  const bool cut_to_fit = version >= nccl_since::kRailsAndPlanes;
  // Before 2.30.7 NCCL does not cut a long name, which overruns its array. No device's name matches it: that
  // has at most 63 bytes.
  entry.name = take_until(text, ':').substr(0, cut_to_fit ? kPrefixSize - 1 : kPrefixSize);
  if (cut_to_fit)
    read_fields(text, entry);
  else if (has_fields)
    entry.port = nccl_atoi(text);
  return entry;
}

}  // namespace

NcclNameList parse_nccl_name_list(std::string_view text, const NcclVersion& version, int limit) {
  NcclNameList list;
  text = nccl_text(text);
  list.exclude = take(text, '^');
  list.exact = take(text, '=');
  while (!text.empty()) {
    const std::string_view entry = take_until(text, ',');
    const std::size_t name_size = entry.substr(0, entry.find(':')).size();
    if (name_size == 0) continue;
    if (list.entries.size() >= static_cast<std::size_t>(std::max(limit, 0))) {
      ++list.dropped;
      continue;
    }
    list.too_long += name_size >= kPrefixSize ? 1 : 0;
    list.entries.push_back(read_entry(entry, version));
  }
  return list;
}

const NcclNameList::Entry* NcclNameList::find(std::string_view name, int port) const {
  const auto matches = [&](const Entry& entry) {
    const bool same_name = exact ? name == entry.name : name.substr(0, entry.name.size()) == entry.name;
    return same_name && (port == -1 || entry.port == -1 || port == entry.port);
  };
  const auto found = std::find_if(entries.begin(), entries.end(), matches);
  return found == entries.end() ? nullptr : &*found;
}

bool NcclNameList::selects(std::string_view name, int port) const {
  return (entries.empty() || find(name, port) != nullptr) != exclude;
}

std::vector<std::string> NcclNameList::names() const {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const Entry& entry : entries)
    names.push_back(entry.name + (entry.port < 0 ? "" : ":" + std::to_string(entry.port)));
  return names;
}

}  // namespace nccl_env
