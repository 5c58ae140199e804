// SPDX-License-Identifier: Apache-2.0
#include "choose/group.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/fabric/hca_name.h"

namespace nccl_env {
namespace {

// What tells kinds of port apart. An empty field is not known, and fits any.
struct Likeness {
  std::optional<LinkLayer> link_layer;
  std::optional<std::string> driver;
  std::optional<std::string> board;
  std::optional<double> rate;         // only where the board is unknown: a board has one nominal rate
  std::optional<std::string> family;  // only with neither driver nor board

  explicit Likeness(const Port& port)
      : link_layer(link_layer_of(port)), driver(port.driver), board(port.board_id) {
    if (!board) rate = rate_of(port);
    if (!driver && !board) family = hca_family(port.hca);
  }
  [[nodiscard]] auto tie() const { return std::tie(link_layer, driver, board, rate, family); }
  [[nodiscard]] int unknowns() const {
    const bool named_only = !driver && !board;
    return (link_layer ? 0 : 1) + (driver || named_only ? 0 : 1) + (board || named_only ? 0 : 1) +
           (named_only ? 2 : 0) + (board || rate ? 0 : 1);
  }
};

struct Group {
  Likeness likeness;
  std::vector<const Port*> ports;
};

template <class T>
bool agree(const std::optional<T>& left, const std::optional<T>& right) {
  return !left || !right || *left == *right;
}

// Whether what is known of a less known group contradicts nothing in a better known one.
bool fits(const Group& partial, const Group& group) {
  const Likeness& some = partial.likeness;
  const Likeness& more = group.likeness;
  if (!agree(some.link_layer, more.link_layer) || !agree(some.driver, more.driver) ||
      !agree(some.board, more.board)) {
    return false;
  }
  const auto shares_rate = [&](const Port* port) { return agree(some.rate, rate_of(*port)); };
  if (!std::any_of(group.ports.begin(), group.ports.end(), shares_rate)) return false;
  if (!some.family) return true;
  const auto shares_family = [&](const Port* port) { return hca_family(port->hca) == *some.family; };
  return std::any_of(group.ports.begin(), group.ports.end(), shares_family);
}

std::vector<Group> group_alike(const std::vector<const Port*>& candidates) {
  std::vector<Group> groups;
  for (const Port* port : candidates) {
    const Likeness likeness(*port);
    const auto same = [&](const Group& group) { return group.likeness.tie() == likeness.tie(); };
    const auto found = std::find_if(groups.begin(), groups.end(), same);
    if (found == groups.end()) {
      groups.push_back({likeness, {port}});
    } else {
      found->ports.push_back(port);
    }
  }
  const auto better_known = [](const Group& left, const Group& right) {
    return left.likeness.unknowns() < right.likeness.unknowns();
  };
  std::stable_sort(groups.begin(), groups.end(), better_known);
  return groups;
}

std::string names_of(const Group& group) {
  std::string names;
  for (const Port* port : group.ports) names += (names.empty() ? "" : ", ") + port->hca;
  return names;
}

std::string describe(const Group& group) {
  const Likeness& like = group.likeness;
  std::string text = std::to_string(group.ports.size()) + " x";
  if (like.link_layer) text += " " + std::string(to_string(*like.link_layer));
  if (like.driver) text += " " + *like.driver;
  if (like.board) text += " " + *like.board;
  return text + " (" + names_of(group) + ")";
}

// Groups that are known only in part join the one group that they fit; fitting two is ambiguous.
std::optional<std::string> join_partial(std::vector<Group>& groups) {
  for (std::size_t i = 1; i < groups.size();) {
    Group& partial = groups[i];
    std::vector<std::size_t> homes;
    for (std::size_t j = 0; j < i && partial.likeness.unknowns() > 0; ++j) {
      if (groups[j].likeness.unknowns() < partial.likeness.unknowns() && fits(partial, groups[j]))
        homes.push_back(j);
    }
    if (homes.size() > 1) {
      return "too little is known of " + names_of(partial) + " to tell whether it belongs to " +
             describe(groups[homes[0]]) + " or " + describe(groups[homes[1]]);
    }
    if (homes.empty()) {
      ++i;
      continue;
    }
    auto& home = groups[homes[0]].ports;
    home.insert(home.end(), partial.ports.begin(), partial.ports.end());
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return std::nullopt;
}

double score(const Group& group, bool by_rate) {
  if (!by_rate) return static_cast<double>(group.ports.size());
  double sum = 0;
  double highest = 0;
  for (const Port* port : group.ports) highest = std::max(highest, rate_of(*port).value_or(0));
  for (const Port* port : group.ports) sum += rate_of(*port).value_or(highest);  // a flap costs no weight
  return sum;
}

// Where weight does not tell, an address may: of the groups that are not outweighed twofold, the one that
// is left once ports without a usable row are gone. Null if that does not tell either.
const Group* chosen_by_rows(const std::vector<Group>& groups, const std::set<const Port*>& without_row,
                            bool by_rate) {
  const Group* winner = nullptr;
  double highest = 0;
  double next = 0;
  for (const Group& group : groups) {
    if (2 * score(group, by_rate) <= score(groups.front(), by_rate)) continue;
    Group served{group.likeness, {}};
    std::copy_if(group.ports.begin(), group.ports.end(), std::back_inserter(served.ports),
                 [&](const Port* port) { return !without_row.contains(port); });
    const double weight = score(served, by_rate);
    next = std::max(next, std::min(weight, highest));
    if (weight > highest) winner = &group;
    highest = std::max(highest, weight);
  }
  return highest >= 2 * next ? winner : nullptr;
}

}  // namespace

GroupChoice choose_group(const std::vector<const Port*>& candidates,
                         const std::set<const Port*>& without_row) {
  std::vector<Group> groups = group_alike(candidates);
  if (auto problem = join_partial(groups)) return {{}, std::move(*problem), {}};
  const bool by_rate = std::all_of(candidates.begin(), candidates.end(), [](const Port* port) {
    return rate_of(*port) || port->state.value_or(PortState::Active) != PortState::Active;
  });
  const auto heavier = [&](const Group& left, const Group& right) {
    return score(left, by_rate) > score(right, by_rate);
  };
  std::stable_sort(groups.begin(), groups.end(), heavier);
  const Group* winner = &groups.front();
  if (groups.size() > 1 && score(groups[0], by_rate) < 2 * score(groups[1], by_rate))
    winner = chosen_by_rows(groups, without_row, by_rate);
  if (winner) return {winner->ports, {}, describe(*winner)};
  return {{},
          "neither " + describe(groups[0]) + " nor " + describe(groups[1]) + " outweighs the other twofold",
          {}};
}

}  // namespace nccl_env
