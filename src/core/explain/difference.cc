// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/difference.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "explain/value_print.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env {
namespace {

using OrderedJson = nlohmann::ordered_json;

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
