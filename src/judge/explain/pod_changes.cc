// SPDX-License-Identifier: Apache-2.0
#include "explain/pod_changes.h"

#include <algorithm>

#include "explain/judgement.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/node_values.h"
#include "nccl_env/core/decide/old_nccl.h"
#include "nccl_env/core/decide/wanted.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/fabric/port_facts.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env {

NodeValues values_today(const PodRecord& record, const BindingPlan& plan) {
  // A value that a pod found itself depends on more than its node's table; constants do not.
  const bool constants = record.starts_itself() || !record.status->exposure;
  return values_for(plan, constants ? Exposure::PodOwned : *record.status->exposure, record.host_network,
                    record.no_index);
}

bool is_constant(std::string_view variable) {
  const auto all = node_variables();
  return std::ranges::find(all, variable) == all.end();
}

namespace {

// The user's variable or file decides, or the value is not known before the pod runs.
bool is_left_to_user(const GivenContainer& container, std::string_view name) {
  const std::string reason = find_text(container.omitted, name);
  return is_users(reason) || reason == to_string(Reason::PodRailsUnknown) ||
         reason == to_string(Reason::EnginesUnavailable);
}

// True for two values that name the same ports, or have the same text.
bool is_same(std::string_view name, const std::optional<std::string>& then,
             const std::optional<std::string>& now, const NodeFabric* table) {
  const bool lists = table && name == variable::kIbHca && then && now;
  return lists ? same_hca_list(*then, *now, *table) : then == now;
}

class Comparison {
 public:
  // A table that is gone or stale by now takes nothing away from a pod that has its values.
  Comparison(const PodRecord& record, const PodSurroundings& around, const std::optional<NodeValues>& today)
      : record_(record),
        table_(around.table.get()),
        exposure_(record.status->exposure.value_or(Exposure::PodOwned)) {
    const auto is_unseen = [](const Value& omission) {
      return omission.reason == Reason::NoTable || omission.reason == Reason::StaleTable;
    };
    if (today && std::ranges::none_of(today->omitted, is_unseen)) node_ = &*today;
    wishes_ =
        make_wishes(*around.policy, exposure_, record.host_network, at_start_ ? Finder::Pod : Finder::Node);
  }

  void compare(const GivenContainer& container, std::vector<Change>& into) const {
    const auto add = [&](const std::string& name, const Value* given, Value today) {
      const auto then = given ? given->value : std::nullopt;
      if (!is_same(name, then, today.value, table_)) into.push_back({container.name, then, std::move(today)});
    };
    for (const Value& wish : wishes_) {
      const Value* given = container.find(wish.name);
      if (is_comparable(wish, given, container) && !serves_today(wish, given))
        add(wish.name, given, held(wish));
    }
    for (const Value* given : container.effective()) {
      if (!find_named(wishes_, given->name) && is_comparable(*given))
        add(given->name, given, left_out(given->name, Reason::OmittedByPolicy));
    }
  }

 private:
  // An index that the node pins no more, since NCCL finds the row by itself, while it is right on all listed
  // ports.
  [[nodiscard]] bool serves_today(const Value& wish, const Value* given) const {
    if (wish.name != variable::kIbGidIndex || wish.state == State::LeftOut || !node_ || !table_ || !given ||
        !given->value)
      return false;
    const Value* omission = node_->omission(wish.name);
    const auto index = nccl_integer(*given->value);
    if (!omission || omission->reason != Reason::OmittedByPolicy || node_->ports.empty()) return false;
    return serves_all(*table_, node_->ports, index);
  }

  // Returns the value that the node gives today for a variable that the policy wants.
  [[nodiscard]] Value held(const Value& wish) const {
    Value held{.name = wish.name};
    if (wish.state == State::LeftOut) {
      held.reason = wish.reason;
    } else if (wish.source == Source::Policy) {
      held.value = wish.value;
    } else if (node_) {
      if (const std::string* value = node_->find(wish.name)) held.value = *value;
      const Value* omission = node_->omission(wish.name);
      if (omission && !held.value) held.reason = omission->reason;
    }
    return held;
  }

  [[nodiscard]] bool is_comparable(const Value& wish, const Value* given,
                                   const GivenContainer& container) const {
    if (wish.source == Source::Pod || (wish.source == Source::Node && !node_)) return false;
    if (std::ranges::find(container.lost, wish.name) != container.lost.end()) return false;
    // A variable that the user sets, or that was left to the user, does not change.
    if (given ? given->state == State::Users : is_left_to_user(container, wish.name)) return false;
    // A value by EnvFile may be empty, whatever the node gives.
    const bool unread = record_.bound && !record_.bound->env_file.empty();
    if (given && (given->state == State::Later || (given->by_file_key && unread))) return false;
    if (!at_start_ || wish.in_env) return true;
    if (wish.state == State::LeftOut) return given && given->is_from(Source::Policy);
    // Nothing is known of a file that the container does not read, or that could not be written.
    return record_.file && record_.file->state == GivenFile::State::Known && !record_.file->cut &&
           container.reads_file && wish.name != variable::kSocketIfname;
  }

  // The same for a value that today's policy does not name.
  [[nodiscard]] bool is_comparable(const Value& given) const {
    if (given.state == State::Users || given.state == State::Later) return false;
    if (given.name == variable::kConfFile || given.value == conf_file::kFolder)
      return false;  // our own files
    // A pod with devices of its own, or one that finds its values, has only constants of its node.
    const bool of_node = node_ && !at_start_ && exposure_ != Exposure::PodOwned;
    if (given.source == Source::Policy || of_node) return true;
    // A line of a file is a constant if it comes from no node.
    return !given.is_from(Source::Node) && given.value && is_constant(given.name);
  }

  const PodRecord& record_;
  const NodeFabric* const table_;
  const Exposure exposure_;
  const bool at_start_ = record_.starts_itself();
  const NodeValues* node_ = nullptr;
  std::vector<Value> wishes_;
};

constexpr std::size_t kMaxValue = 60;  // of a value in a sentence

std::string value_words(const std::optional<std::string>& value) {
  return value ? cut(*value, kMaxValue) : "none";
}

}  // namespace

std::vector<Change> changes_since(const PodRecord& record, const PodSurroundings& around,
                                  const std::optional<NodeValues>& today) {
  std::vector<Change> changes;
  const Comparison comparison(record, around, today);
  for (const GivenContainer& container : record.containers) {
    if (container.in_status) comparison.compare(container, changes);
  }
  return changes;
}

std::string change_text(const Change& change) {
  const auto& [name, now] = std::pair(change.now.name, change.now.value);
  if (name == variable::kIbHca && change.then && now)
    return name + " (" + list_difference(names_of_list(*change.then), names_of_list(*now)) + ")";
  const std::string reason =
      change.now.reason && !now ? ": " + std::string(to_string(*change.now.reason)) : std::string();
  return name + " (" + value_words(change.then) + " then, " + value_words(now) + " today" + reason + ")";
}

std::string changes_text(const std::vector<Change>& changes) {
  return join_some(changes, 4, change_text);
}

std::optional<Reason> reason_of_changes(const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    const auto& reason = change.now.reason;
    if (change.then && !change.now.value && reason && may_deny(*reason)) return reason;
  }
  return std::nullopt;
}

bool is_kept_over_boot(const PodRecord& record, const NodeFabric* table) {
  return table && table->boot_id && record.bound && !record.bound->boot.empty() &&
         record.bound->boot != *table->boot_id;
}

TextsByName details_today(const PodRecord& record, const NodeFabric* table, const NodeValues& today) {
  TextsByName details;
  for (const Value& omission : today.omitted) {
    if (record.reason_at_binding(omission.name) == to_string(*omission.reason))
      details.emplace(omission.name, omission.detail);
  }
  details.insert(today.why.begin(), today.why.end());
  // Beside a value of the user's own stands what its node would give.
  const GivenContainer* container = record.main_container();
  if (!container || !container->in_status) return details;
  for (const Value& own : container->values) {
    if (own.state != State::Users || !own.value) continue;
    const auto value = today.set.find(own.name);
    const auto why = details.find(own.name);
    if (value != today.set.end() && !is_same(own.name, own.value, value->second, table)) {
      details.insert_or_assign(own.name, "the node's: " + value->second);
    } else if (own.name == variable::kIbGidIndex && table && !today.ports.empty() &&
               record.status->exposure == Exposure::Host &&
               serves_all(*table, today.ports, nccl_integer(*own.value))) {
      details.insert_or_assign(own.name, "fits: a usable row on all " + count_of(today.ports.size(), "port") +
                                             " of the node's list");
    } else if (value == today.set.end() && why != details.end()) {
      why->second.insert(0, "the node's: none. ");
    }
  }
  return details;
}

}  // namespace nccl_env
