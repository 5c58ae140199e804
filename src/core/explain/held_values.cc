// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/held_values.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "decide/wanted.h"
#include "explain/value_print.h"
#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env {
namespace {

using HeldNames = std::map<std::string, Value>;

std::optional<Reason> reason_of(const NodeValues& values, std::string_view name) {
  const Value* found = find_named(values.omitted, name);
  return found ? found->reason : std::nullopt;
}

Value binding_of(const NcclPolicy& policy, const NodeValues& values) {
  if (policy.on_unresolved != OnUnresolved::Deny || !values.deny) return {"Binding", "allowed"};
  return {.name = "Binding", .value = "refused", .reason = values.deny->reason};
}

const Value* held_at(const HeldValues& held, const std::string& place, const std::string& name) {
  const auto names = held.places.find(place);
  if (names == held.places.end()) return nullptr;
  const auto value = names->second.find(name);
  return value == names->second.end() ? nullptr : &value->second;
}

}  // namespace

Value held_value(const Value& wish, const NodeValues& values) {
  Value held{.name = wish.name};
  if (wish.state == State::LeftOut) {
    held.reason = wish.reason;
  } else if (wish.source == Source::Policy) {
    held.value = wish.value;
  } else {
    held.reason = reason_of(values, wish.name);
    if (const auto value = values.set.find(wish.name); value != values.set.end()) held.value = value->second;
  }
  return held;
}

HeldValues offered_values(const std::shared_ptr<const NcclPolicy>& policy, std::string_view node,
                          const NodeFabric* table, const NodeContext& context) {
  if (policy->mode == PolicyMode::DryRun) return {{}, Reason::DryRun};
  HeldValues held{{}, Reason::OmittedByPolicy};
  const BindingPlan plan = plan_binding(policy, node, table, context);
  for (const Exposure exposure : {Exposure::Host, Exposure::SubInterface, Exposure::PodOwned}) {
    const NodeValues values = values_for(plan, exposure, exposure == Exposure::Host);
    HeldNames& names = held.places[std::string(to_string(exposure))];
    for (const Value& wish : make_wishes(*policy, exposure, exposure == Exposure::Host, Finder::Node))
      names.emplace(wish.name, held_value(wish, values));
    names.emplace("Binding", binding_of(*policy, values));
  }
  return held;
}

HeldValues given_values(const Explanation& explanation) {
  if (!explanation.inject) return {{}, explanation.reason};
  HeldValues held;
  for (const ExplainedContainer& container : explanation.containers) {
    HeldNames& names = held.places[container.name];
    for (const Value& value : container.env) names[value.name].value = value_text(value);
    for (const Value& omission : container.omitted) names[omission.name].reason = omission.reason;
    // A line counts where the env has no such variable, neither ours nor the user's.
    for (const Value& line : container.conf.value_or(std::vector<Value>())) {
      Value& value = names[line.name];
      if (!value.value && !value.reason) value.value = value_text(line);
    }
  }
  return held;
}

nlohmann::ordered_json to_json(const Change& change) {
  const nlohmann::ordered_json reason =
      change.now.reason ? nlohmann::ordered_json(to_string(*change.now.reason)) : nlohmann::ordered_json();
  return {{"name", change.now.name},
          {"then", value_or_null(change.then)},
          {"now", value_or_null(change.now.value)},
          {"reason", reason}};
}

std::vector<Change> changes_between(const HeldValues& then, const HeldValues& now) {
  std::set<std::pair<std::string, std::string>> keys;
  for (const HeldValues* side : {&then, &now}) {
    for (const auto& [place, names] : side->places) {
      for (const auto& [name, value] : names) keys.emplace(place, name);
    }
  }
  using Told =
      std::tuple<std::string, std::optional<std::string>, std::optional<std::string>, std::optional<Reason>>;
  std::map<Told, std::vector<std::string>> told;
  for (const auto& [place, name] : keys) {
    const Value* before = held_at(then, place, name);
    const Value* after = held_at(now, place, name);
    const auto old = before ? before->value : std::nullopt;
    const auto held = after ? after->value : std::nullopt;
    if (old != held) told[{name, old, held, after ? after->reason : now.reason}].push_back(place);
  }
  std::vector<Change> changes;
  changes.reserve(told.size());
  for (auto& [what, places] : told) {
    const auto& [name, old, held, reason] = what;
    changes.push_back({std::move(places), old, {.name = name, .value = held, .reason = reason}});
  }
  return changes;
}

}  // namespace nccl_env
