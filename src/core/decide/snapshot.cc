// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/snapshot.h"

#include <algorithm>

#include "decide/compile.h"

namespace nccl_env {
namespace {

template <class Entries>
auto place_of(Entries& entries, std::string_view node) {
  if (entries.empty() || entries.back().first < node) return entries.end();
  return std::lower_bound(entries.begin(), entries.end(), node,
                          [](const auto& entry, std::string_view name) { return entry.first < name; });
}

}  // namespace

PolicyEntry::PolicyEntry(std::shared_ptr<const NcclPolicy> accepted, std::string why)
    : policy(std::move(accepted)),
      problem(std::move(why)),
      compiled(policy ? std::make_shared<const CompiledPolicy>(compile(*policy)) : nullptr) {}

TableMap::const_iterator TableMap::find(std::string_view node) const {
  const auto place = place_of(entries_, node);
  return place != entries_.end() && place->first == node ? place : entries_.end();
}

bool TableMap::insert(SharedTable table) {
  if (find(table->name()) != entries_.end()) return false;
  put(std::move(table));
  return true;
}

void TableMap::put(SharedTable table) {
  const std::string_view node = table->name();
  const auto place = place_of(entries_, node);
  if (place != entries_.end() && place->first == node) {
    *place = {node, std::move(table)};
  } else {
    entries_.emplace(place, node, std::move(table));
  }
}

void TableMap::erase(std::string_view node) {
  const auto place = place_of(entries_, node);
  if (place != entries_.end() && place->first == node) entries_.erase(place);
}

PolicyLookup find_policy(const Snapshot& snapshot, std::string_view name_space) {
  const auto label = snapshot.opted_in.find(name_space);
  const bool labelled = label != snapshot.opted_in.end();
  if (!labelled || label->second.empty()) {
    return {nullptr, Reason::NamespaceNotOptedIn,
            "Namespace " + std::string(name_space) + " has no label nccl-env.io/policy.",
            snapshot.may_lag && !labelled};
  }
  const auto entry = snapshot.policies.find(label->second);
  if (entry == snapshot.policies.end()) {
    return {nullptr, Reason::PolicyMissing,
            "Namespace " + std::string(name_space) + " names NcclPolicy " + label->second +
                ", which does not exist.",
            snapshot.may_lag};
  }
  if (!entry->second.policy) {
    return {nullptr, Reason::PolicyInvalid,
            "NcclPolicy " + label->second + " was refused: " + entry->second.problem};
  }
  const auto written = snapshot.labelled.find(name_space);
  return {entry->second.policy,
          std::nullopt,
          {},
          false,
          snapshot.at_binding.contains(name_space),
          entry->second.compiled,
          written == snapshot.labelled.end() ? std::nullopt : std::optional(written->second)};
}

}  // namespace nccl_env
