// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/held_values.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "decide/wanted.h"
#include "engines/nccl/ports.h"
#include "explain/judgement.h"
#include "explain/value_print.h"
#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env {

namespace {

using OrderedJson = nlohmann::ordered_json;
using HeldNames = std::map<std::string, Value>;

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

constexpr std::size_t kMaxValue = 60;  // of a value in a sentence

std::optional<std::vector<std::string>> names_of(const std::optional<std::string>& list) {
  if (!list) return std::nullopt;
  return parse_nccl_name_list(*list, kNewestNccl, nccl_max_hcas(kNewestNccl)).names();
}

// As is_same_list() for HCAs, and by their texts for others.
bool is_same(const std::string& name, const Value* before, const Value* after) {
  const auto old = before ? before->value : std::nullopt, now = after ? after->value : std::nullopt;
  if (name != variable::kIbHca || !old || !now) return old == now;
  return is_same_list(*old, *now, before->is_from(Source::Node) && after->is_from(Source::Node));
}

std::string value_words(const std::optional<std::string>& value) {
  return value ? cut(*value, kMaxValue) : "none";
}

}  // namespace

std::string change_text(const Change& change) {
  const auto& [name, now] = std::pair(change.now.name, change.now.value);
  if (name == variable::kIbHca && change.then && now)
    return name + " (" + list_difference(*names_of(change.then), *names_of(now)) + ")";
  const std::string reason =
      change.now.reason && !now ? ": " + std::string(to_string(*change.now.reason)) : std::string();
  return name + " (" + value_words(change.then) + " then, " + value_words(now) + " today" + reason + ")";
}

std::string remedy_of_changes(const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    const auto& reason = change.now.reason;
    if (change.then && !change.now.value && reason && *reason != Reason::OmittedByPolicy)
      return std::string(remedy(*reason));
  }
  return {};
}

Value held_value(const Value& wish, const NodeValues& values) {
  Value held{.name = wish.name};
  if (wish.state == State::LeftOut) {
    held.reason = wish.reason;
  } else if (wish.source == Source::Policy) {
    held.value = wish.value;
  } else {
    if (const std::string* value = values.find(wish.name)) held.value = *value;
    const Value* omission = values.omission(wish.name);
    if (omission && !held.value) held.reason = omission->reason;
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

bool is_same_list(const std::string& one, const std::string& other, bool of_node) {
  NcclNameList lists[] = {parse_nccl_name_list(one, kNewestNccl, nccl_max_hcas(kNewestNccl)),
                          parse_nccl_name_list(other, kNewestNccl, nccl_max_hcas(kNewestNccl))};
  const std::vector<std::string> names[] = {lists[0].names(), lists[1].names()};
  return lists[0].exclude == lists[1].exclude && (of_node || lists[0].exact == lists[1].exact) &&
         std::set(names[0].begin(), names[0].end()) == std::set(names[1].begin(), names[1].end());
}

HeldValues given_values(const Explanation& explanation) {
  if (!explanation.inject) return {{}, explanation.reason};
  HeldValues held;
  for (const ExplainedContainer& container : explanation.containers) {
    HeldNames& names = held.places[container.name];
    for (const Value& value : container.env) {
      names[value.name].value = value_text(value);
      names[value.name].source = value.source;
    }
    for (const Value& omission : container.omitted) names[omission.name].reason = omission.reason;
    // A line counts where the env has no such variable, neither ours nor the user's.
    for (const Value& line : container.conf.value_or(std::vector<Value>())) {
      Value& value = names[line.name];
      if (value.value || value.reason) continue;
      value.value = value_text(line);
      value.source = line.source;
    }
  }
  return held;
}

OrderedJson to_json(const Change& change) {
  const OrderedJson reason = change.now.reason ? OrderedJson(to_string(*change.now.reason)) : OrderedJson();
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
    if (!is_same(name, before, after))
      told[{name, old, held, after ? after->reason : now.reason}].push_back(place);
  }
  std::vector<Change> changes;
  changes.reserve(told.size());
  for (auto& [what, places] : told) {
    const auto& [name, old, held, reason] = what;
    changes.push_back({std::move(places), old, {.name = name, .value = held, .reason = reason}});
  }
  return changes;
}

namespace {

// More names than these would hide what changes.
constexpr std::size_t kMostMembers = 8;
constexpr std::size_t kMostPlaces = 3;

std::vector<std::string> nodes_of(const NodeKinds& kinds, const Difference::Kinds& names) {
  std::vector<std::string> nodes;
  for (const std::size_t kind : kinds) nodes.insert(nodes.end(), names[kind].begin(), names[kind].end());
  return nodes;
}

std::string wrapped_line(const std::string& text) {
  return join(wrap(printable(text), kTextWidth - 2), "\n  ") + "\n";
}

std::string text_of(const Change& change) {
  return change.now.name + ": " + change.then.value_or("none") + " -> " + change.now.value.value_or("none") +
         in_brackets(change.now.reason);
}

}  // namespace

void Difference::add(const std::string& member, const std::map<std::vector<Change>, NodeKinds>& changes) {
  ++compared_;
  bool changed = false;
  for (const auto& [what, kinds] : changes) {
    if (what.empty()) continue;
    groups_[{what, kinds}].push_back(member);
    changed = true;
  }
  changed_ += changed ? 1 : 0;
}

std::string Difference::sum() const {
  return std::to_string(changed_) + " of " + count_of(compared_, noun_);
}

std::vector<const Difference::Group*> Difference::largest() const {
  std::vector<const Group*> groups;
  for (const Group& group : groups_) groups.push_back(&group);
  std::ranges::stable_sort(groups, [](const Group* left, const Group* right) {
    const std::size_t of_left = left->second.size(), of_right = right->second.size();
    return of_left != of_right ? of_left > of_right
                               : hca_name_less(left->second.front(), right->second.front());
  });
  groups.resize(std::min(groups.size(), kMostGroups));
  return groups;
}

std::string Difference::render_text(const Kinds& kinds) const {
  std::string text;
  for (const Group* group : largest()) {
    const auto& [changes, on] = group->first;
    const std::vector<std::string> nodes = nodes_of(on, kinds);
    text += "\n" + wrapped_line(count_of(group->second.size(), noun_) + ": " +
                                join_some(group->second, kMostMembers));
    if (!nodes.empty())
      text +=
          "  " + wrapped_line("on " + count_of(nodes.size(), "node") + ": " + join_some(nodes, kMostMembers));
    TextColumns columns(4);
    for (const Change& change : changes)
      columns.add({join_some(change.places, kMostPlaces), text_of(change)});
    text += columns.render();
  }
  const std::size_t more = groups_.size() - std::min(groups_.size(), kMostGroups);
  return text + (more == 0 ? "" : "\nand " + count_of(more, "further group") + " of " + noun_ + "s\n");
}

OrderedJson Difference::to_json(const Kinds& kinds) const {
  OrderedJson json{{"compared", compared_}, {"changed", changed_}};
  auto& groups = json["groups"] = OrderedJson::array();
  for (const Group* group : largest()) {
    const auto& [changes, on] = group->first;
    OrderedJson one{{noun_ + "s", group->second}};
    if (!on.empty()) one["on"] = nodes_of(on, kinds);
    auto& list = one["changes"] = OrderedJson::array();
    for (const Change& change : changes)
      list.emplace_back(OrderedJson{{"of", change.places}}).update(nccl_env::to_json(change));
    groups.push_back(std::move(one));
  }
  json["moreGroups"] = groups_.size() - groups.size();
  return json;
}

}  // namespace nccl_env
