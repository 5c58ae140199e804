// SPDX-License-Identifier: Apache-2.0
#include "explain/pod_changes.h"

#include <algorithm>

#include "decide/wanted.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/engines/nccl/variables.h"

namespace nccl_env {

// Returns what the node would give to the pod today; nothing where that is not known.
std::optional<NodeValues> values_today(const PodRecord& record, const PodSurroundings& around) {
  const Exposure exposure = record.status->exposure.value_or(Exposure::PodOwned);
  if (!around.table_known) return std::nullopt;
  const BindingPlan plan = plan_binding(around.policy, record.node, around.table.get(), around.context);
  // A value that a pod found itself depends on more than its node's table; constants do not.
  return values_for(plan, record.starts_itself() ? Exposure::PodOwned : exposure, record.host_network);
}

bool is_constant(std::string_view variable) {
  const auto all = node_variables();
  return std::ranges::find(all, variable) == all.end();
}

namespace {

// A table that is gone or stale by now takes nothing away from a pod that has its values.
std::optional<NodeValues> comparable_values(const PodRecord& record, const PodSurroundings& around) {
  std::optional<NodeValues> values = values_today(record, around);
  const auto is_unseen = [](const Value& omission) {
    return omission.reason == Reason::NoTable || omission.reason == Reason::StaleTable;
  };
  if (values && std::ranges::any_of(values->omitted, is_unseen)) values.reset();
  return values;
}

class Comparison {
 public:
  Comparison(const PodRecord& record, const PodSurroundings& around)
      : at_start_(record.starts_itself()),
        file_known_(record.file && record.file->state == GivenFile::State::Known && !record.file->cut),
        unread_(record.bound && !record.bound->env_file.empty()),
        table_(around.table.get()),
        node_(comparable_values(record, around)),
        constants_only_(at_start_ ||
                        record.status->exposure.value_or(Exposure::PodOwned) == Exposure::PodOwned),
        wishes_(make_wishes(*around.policy, record.status->exposure.value_or(Exposure::PodOwned),
                            record.host_network, at_start_ ? Finder::Pod : Finder::Node, {},
                            gives_nvshmem(record))) {}

  void compare(const GivenContainer& container, std::vector<Change>& into) const {
    for (const Value& wish : wishes_) {
      if (!is_comparable(wish, container)) continue;
      const Value* given = container.find(wish.name);
      if (std::ranges::find(container.lost, wish.name) != container.lost.end()) continue;
      if (!given && wish.name == variable::kNvshmemHcaList) continue;  // it did not ask for it
      // A variable that the user sets, or that was left to the user, does not change.
      if (given ? given->state == State::Users : is_users(container, wish.name)) continue;
      if (given && (given->state == State::Later || (given->by_file_key && unread_))) continue;
      add(container, given, held_value(wish, node_ ? *node_ : none_), into);
    }
    for (const Value* given : container.effective()) {
      if (!find_named(wishes_, given->name) && is_comparable(*given))
        add(container, given, left_out(given->name, Reason::OmittedByPolicy), into);
    }
  }

 private:
  // A record does not tell which container asks for NVSHMEM, but which has its list of us.
  [[nodiscard]] static bool gives_nvshmem(const PodRecord& record) {
    return std::ranges::any_of(record.containers, [](const GivenContainer& container) {
      const Value* list = container.find(variable::kNvshmemHcaList);
      return list && list->state != State::Users;
    });
  }

  // Two kinds of values are not compared: those that a pod finds itself, and those of a file that the
  // container does not read or that could not be written.
  [[nodiscard]] bool is_comparable(const Value& wish, const GivenContainer& container) const {
    if (wish.source == Source::Pod || (wish.source == Source::Node && !node_)) return false;
    if (!at_start_ || wish.in_env) return true;
    if (wish.state == State::LeftOut) {
      const Value* given = container.find(wish.name);
      return given && given->is_from(Source::Policy);
    }
    return file_known_ && container.reads_file && wish.name != variable::kSocketIfname;
  }

  // The same for a value that today's policy does not name.
  [[nodiscard]] bool is_comparable(const Value& given) const {
    if (given.state == State::Users || given.state == State::Later) return false;
    if (given.name == variable::kConfFile || given.value == conf_file::kFolder)
      return false;  // our own files
    if (given.source == Source::Policy || (node_ && !constants_only_)) return true;
    // A line of a file is a constant if it comes from no node.
    return !given.is_from(Source::Node) && given.value && is_constant(given.name);
  }

  [[nodiscard]] static bool is_users(const GivenContainer& container, std::string_view name) {
    const auto omitted = container.omitted.find(name);
    if (omitted == container.omitted.end()) return false;
    const auto reason = parse_reason(omitted->second);
    return reason == Reason::UserSet || reason == Reason::UserSetGroup || reason == Reason::DisabledByUser ||
           reason == Reason::EnvFromPresent || reason == Reason::ConfPresent ||
           reason == Reason::ConfOccupied || reason == Reason::PodRailsUnknown ||
           reason == Reason::EnginesUnavailable;
  }

  void add(const GivenContainer& container, const Value* given, Value today,
           std::vector<Change>& into) const {
    Change change{{container.name}, given ? given->value : std::nullopt, std::move(today)};
    const auto& now = change.now.value;
    const bool lists = table_ && change.now.name == variable::kIbHca && change.then && now;
    const bool same = lists ? same_hca_list(*change.then, *now, *table_) : change.then == now;
    if (!same) into.push_back(std::move(change));
  }

  const bool at_start_;
  const bool file_known_;
  const bool unread_;  // what comes by EnvFile is empty, whatever the node gives
  const NodeFabric* const table_;
  const std::optional<NodeValues> node_;
  const NodeValues none_;
  const bool constants_only_;  // for a pod with devices of its own, or one that finds its values
  const std::vector<Value> wishes_;
};

// Beside a value of the user's own stands what its node would give.
void add_beside_users(const PodRecord& record, const NodeValues& node, const NodeFabric* table,
                      std::map<std::string, std::string, std::less<>>& details) {
  const GivenContainer* container = record.main_container();
  if (!container || !container->in_status) return;
  for (const Value& own : container->values) {
    const auto value = node.set.find(own.name);
    if (own.state != State::Users || !own.value || value == node.set.end()) continue;
    const bool same = own.name == variable::kIbHca && table ? same_hca_list(*own.value, value->second, *table)
                                                            : *own.value == value->second;
    if (!same) details.insert_or_assign(own.name, "the node's: " + value->second);
  }
}

}  // namespace

std::vector<Change> changes_since(const PodRecord& record, const PodSurroundings& surroundings) {
  std::vector<Change> changes;
  if (!record.status || record.node.empty() || !surroundings.policy) return changes;
  const Comparison comparison(record, surroundings);
  for (const GivenContainer& container : record.containers) {
    if (container.in_status) comparison.compare(container, changes);
  }
  return changes;
}

std::map<std::string, std::string, std::less<>> details_today(const PodRecord& record,
                                                              const PodSurroundings& surroundings) {
  std::map<std::string, std::string, std::less<>> details;
  if (!record.status || record.node.empty() || !surroundings.policy) return details;
  const auto node = values_today(record, surroundings);
  if (!node) return details;
  for (const Value& omission : node->omitted) {
    if (record.reason_at_binding(omission.name) == to_string(*omission.reason))
      details.emplace(omission.name, omission.detail);
  }
  details.insert(node->why.begin(), node->why.end());
  add_beside_users(record, *node, surroundings.table.get(), details);
  return details;
}

}  // namespace nccl_env
