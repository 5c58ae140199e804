// SPDX-License-Identifier: Apache-2.0
#include "choose/group.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "nccl_env/core/choose/card.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/fabric/port_facts.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env {
namespace {

// Rates in Gb/s for ports of which no rate is known. A port that was never up may be a port of the fabric or
// a spare port of the mainboard: the winner has to win in both cases.
constexpr double kSlowestSpare = 25;
constexpr double kSlowestFabric = 100;
constexpr double kUsualFabric = 200;
constexpr double kFastestFabric = 400;

bool is_up(const Port& port) {
  return port.state.value_or(PortState::Active) == PortState::Active;
}

// Fields that tell kinds of port apart. An empty one is not known, and fits any.
struct Likeness {
  std::optional<LinkLayer> link_layer;
  std::optional<std::string> driver;
  std::optional<std::string> board;
  std::optional<double> rate;         // only where the board is unknown: a board has one nominal rate
  std::optional<std::string> family;  // only with neither driver nor board

  explicit Likeness(const Port& port)
      : link_layer(link_layer_of(port)), driver(port.driver), board(port.board_id) {
    if (!board) rate = own_rate(port);
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

// A group's weight lies between the two; it is exact if they are equal.
struct Weight {
  double least = 0;
  double most = 0;
};

// Weighs ports by the sum of their rates; where the table knows no rate, that amounts to their number.
class Scales {
 public:
  explicit Scales(const NominalRates& rates) : rates_(rates) {}

  [[nodiscard]] Weight weigh(const std::vector<const Port*>& ports) const {
    double known = 0;  // the highest known rate, which also stands for like ports without one
    bool up = false;
    for (const Port* port : ports) {
      known = std::max(known, rates_.of(*port).value_or(0));
      up = up || is_up(*port);
    }
    Weight unknown{up ? kSlowestFabric : kSlowestSpare,
                   std::max(kFastestFabric, rates_.highest().value_or(0))};
    Weight unknown_down = unknown;
    if (up && !rates_.highest()) {
      unknown = {kUsualFabric, kUsualFabric};
      unknown_down = {kSlowestSpare, kUsualFabric};
    }
    Weight sum;
    for (const Port* port : ports) {
      const double rate = rates_.of(*port).value_or(known);
      const Weight& guess = is_up(*port) ? unknown : unknown_down;
      sum.least += rate > 0 ? rate : guess.least;
      sum.most += rate > 0 ? rate : guess.most;
    }
    return sum;
  }

 private:
  const NominalRates& rates_;
};

template <class T>
bool agree(const std::optional<T>& left, const std::optional<T>& right) {
  return !left || !right || *left == *right;
}

// True if nothing that is known of `partial` contradicts the better known `group`.
bool fits(const Group& partial, const Group& group) {
  const Likeness& some = partial.likeness;
  const Likeness& more = group.likeness;
  if (!agree(some.link_layer, more.link_layer) || !agree(some.driver, more.driver) ||
      !agree(some.board, more.board)) {
    return false;
  }
  const auto shares_rate = [&](const Port* port) { return agree(some.rate, own_rate(*port)); };
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

std::string kind_text(const Likeness& like) {
  std::string text;
  const auto add = [&](std::string_view word) { text.append(text.empty() ? "" : " ").append(word); };
  if (like.link_layer) add(to_string(*like.link_layer));
  if (like.driver) add(*like.driver);
  if (like.board) add(*like.board);
  return text;
}

std::string describe(const Group& group) {
  return describe_ports(group.ports, kind_text(group.likeness));
}

// True if nothing but its driver says that `partial` is of the kind of `home`: its ports are down and on
// other cards, and neither board nor rate is known. `partial` may be a fabric that is not up yet, beside
// storage NICs (`home`) that are up.
bool is_stranger(const Group& partial, const Group& home) {
  const auto has_rate = [](const Port* port) { return own_rate(*port).has_value(); };
  const auto is_on_a_card_of_home = [&](const Port* port) {
    return std::any_of(home.ports.begin(), home.ports.end(),
                       [&](const Port* other) { return are_on_one_card(*port, *other) == true; });
  };
  return !partial.likeness.board && !partial.likeness.rate &&
         std::none_of(partial.ports.begin(), partial.ports.end(),
                      [](const Port* port) { return is_up(*port); }) &&
         std::any_of(home.ports.begin(), home.ports.end(), has_rate) &&
         !std::all_of(partial.ports.begin(), partial.ports.end(), is_on_a_card_of_home);
}

// Groups of which it is not known whether they are one: of each a port, the one known in part first.
struct OpenQuestion {
  std::vector<const Port*> ports;
  std::string problem;
};

// Groups that are known only in part join the one group that they fit. Where that is not known, they stay
// apart.
std::vector<OpenQuestion> join_partial(std::vector<Group>& groups, const Scales& scales) {
  std::vector<OpenQuestion> open;
  for (std::size_t i = 1; i < groups.size();) {
    Group& partial = groups[i];
    std::vector<Group*> homes;
    for (std::size_t j = 0; j < i && partial.likeness.unknowns() > 0; ++j) {
      if (groups[j].likeness.unknowns() < partial.likeness.unknowns() && fits(partial, groups[j]))
        homes.push_back(&groups[j]);
    }
    const bool down = std::none_of(partial.ports.begin(), partial.ports.end(), [](const Port* port) {
      return port->state.value_or(PortState::Active) == PortState::Active;
    });
    const std::string too_little = "too little is known of " + names_of(partial.ports);
    if (homes.size() > 1) {
      OpenQuestion& question = open.emplace_back();
      question.ports = {partial.ports.front()};
      for (const Group* home : homes) question.ports.push_back(home->ports.front());
      question.problem = too_little + (down ? " (down)" : "") + " to tell whether it belongs to " +
                         describe(*homes[0]) + " or " + describe(*homes[1]);
    } else if (homes.size() == 1 && is_stranger(partial, *homes[0]) &&
               scales.weigh(homes[0]->ports).least < 2 * scales.weigh(partial.ports).most) {
      open.push_back(
          {{partial.ports.front(), homes[0]->ports.front()},
           too_little + ", of which none has been up, to tell whether it belongs to " + describe(*homes[0])});
    } else if (homes.size() == 1) {
      homes[0]->ports.insert(homes[0]->ports.end(), partial.ports.begin(), partial.ports.end());
      groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    ++i;
  }
  return open;
}

// The first question whose answer may change who wins; null if `winner` outweighs twofold whatever all of
// them make together.
const OpenQuestion* undecided(const std::vector<OpenQuestion>& open, const std::vector<Group>& groups,
                              const Group* winner, const Scales& scales) {
  std::set<const Group*> asked;
  double most = 0;
  for (const OpenQuestion& question : open) {
    for (const Port* port : question.ports) {
      const auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& candidate) {
        return std::find(candidate.ports.begin(), candidate.ports.end(), port) != candidate.ports.end();
      });
      if (&*group == winner) return &question;
      if (asked.insert(&*group).second) most += scales.weigh(group->ports).most;
    }
  }
  const bool settled = open.empty() || (winner && scales.weigh(winner->ports).least >= 2 * most);
  return settled ? nullptr : &open.front();
}

bool is_exact(const Weight& weight) {
  return weight.least == weight.most;
}

// Where weight does not decide, addresses may. Ports without a usable row are left out; then, among the
// groups that were not outweighed twofold, the one that outweighs the others twofold wins. Null if there is
// none.
const Group* chosen_by_rows(const std::vector<Group>& groups, const std::set<const Port*>& without_row,
                            const std::set<const Port*>& own, const Scales& scales) {
  const Group* winner = nullptr;
  double highest = 0;
  double next = 0;
  for (const Group& group : groups) {
    const Weight whole = scales.weigh(group.ports);
    if (!is_exact(whole)) return nullptr;  // where rates are not known, addresses do not decide either
    if (2 * whole.least <= scales.weigh(groups.front().ports).least) continue;
    std::vector<const Port*> served;
    std::copy_if(group.ports.begin(), group.ports.end(), std::back_inserter(served),
                 [&](const Port* port) { return !without_row.contains(port); });
    // Not weigh(served): the group's rate may be known only from a port without a usable row.
    const double weight =
        whole.least * static_cast<double>(served.size()) / static_cast<double>(group.ports.size());
    next = std::max(next, std::min(weight, highest));
    if (weight > highest) winner = &group;
    highest = std::max(highest, weight);
  }
  if (!winner || highest < 2 * next) return nullptr;
  const auto is_own = [&](const Port* port) { return own.contains(port); };
  return std::any_of(winner->ports.begin(), winner->ports.end(), is_own) ? nullptr : winner;
}

}  // namespace

std::string names_of(const std::vector<const Port*>& ports) {
  constexpr std::size_t kMostNames = 32;
  return join_some(ports, kMostNames, [](const Port* port) -> const std::string& { return port->hca; });
}

std::string describe_ports(const std::vector<const Port*>& ports, const std::string& kind) {
  return std::to_string(ports.size()) + " x" + (kind.empty() ? "" : " " + kind) + " (" + names_of(ports) +
         ")";
}

GroupChoice choose_group(const std::vector<const Port*>& candidates, const NominalRates& rates,
                         const std::set<const Port*>& without_row, const std::set<const Port*>& own) {
  const Scales scales(rates);
  std::vector<Group> groups = group_alike(candidates);
  const std::vector<OpenQuestion> open = join_partial(groups, scales);
  const auto heavier = [&](const Group& left, const Group& right) {
    return scales.weigh(left.ports).least > scales.weigh(right.ports).least;
  };
  std::stable_sort(groups.begin(), groups.end(), heavier);
  const Group* winner = &groups.front();
  const auto rival =
      std::max_element(groups.begin() + 1, groups.end(), [&](const Group& left, const Group& right) {
        return scales.weigh(left.ports).most < scales.weigh(right.ports).most;
      });
  if (rival != groups.end() && scales.weigh(winner->ports).least < 2 * scales.weigh(rival->ports).most)
    winner = chosen_by_rows(groups, without_row, own, scales);
  if (const OpenQuestion* question = undecided(open, groups, winner, scales))
    return {{}, question->problem, {}};
  if (winner) return {winner->ports, {}, kind_text(winner->likeness)};
  std::string problem =
      "neither " + describe(groups.front()) + " nor " + describe(*rival) + " outweighs the other twofold";
  for (const Group* group : {&groups.front(), &*rival}) {
    if (!is_exact(scales.weigh(group->ports)))
      problem += "; the rate of " + names_of(group->ports) + " is not known";
  }
  return {{}, std::move(problem), {}};
}

}  // namespace nccl_env
