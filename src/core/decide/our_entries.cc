// SPDX-License-Identifier: Apache-2.0
#include "decide/our_entries.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nccl_env/core/decide/decide.h"

namespace nccl_env {
namespace {

// Larger than any status of ours: 60 containers with all variables are under 32 KiB.
constexpr std::size_t kMaxStatusBytes = 64u << 10;

}  // namespace

bool is_own_field(const EnvEntry& entry) {
  std::string_view path = entry.field_path;
  constexpr std::string_view kOpen = "metadata.annotations['";
  if (!path.starts_with(kOpen) || !path.ends_with("']")) return false;
  path.remove_prefix(kOpen.size());
  path.remove_suffix(2);
  for (const std::string_view prefix : {key::kHostPrefix, key::kSubInterfacePrefix}) {
    if (path.starts_with(prefix)) return path.substr(prefix.size()) == entry.name;
  }
  return false;
}

OwnEntries::OwnEntries(const Pod& pod) {
  const auto status = pod.annotation(key::kStatus);
  if (!status || status->size() > kMaxStatusBytes) return;
  const auto json = nlohmann::json::parse(*status, nullptr, false);
  if (!json.is_object() || !json.contains("containers") || !json["containers"].is_object()) return;
  for (const auto& [container, plan] : json["containers"].items()) {
    if (!plan.is_object() || !plan.contains("set") || !plan["set"].is_object()) continue;
    for (const auto& [name, source] : plan["set"].items()) {
      if (source == to_string(Source::Policy)) listed_[container].insert(name);
    }
  }
}

bool OwnEntries::owns(const Container& container, const EnvEntry& entry, const Literals& literals) const {
  if (entry.has_source) return is_own_field(entry);
  const auto listed = listed_.find(container.name);
  if (listed == listed_.end() || !listed->second.contains(entry.name)) return false;
  return std::find(literals.begin(), literals.end(), std::pair(entry.name, entry.value)) != literals.end();
}

}  // namespace nccl_env
