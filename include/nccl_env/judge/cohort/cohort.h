// SPDX-License-Identifier: Apache-2.0
// Members that have to agree: ranks of a job, templates of a manifest, logs, nodes of a pool. The odd ones
// are found here, whatever is compared.
//
//   [ member ]* --of--> [ Shares ]: value -> its members
//                           |
//                           +--usual--> [ Odd ]*: a value that is not the usual one, and who has it
//                                          |
//   [ Agreement ]: a row ------words-------+--> [ Difference ]*: a finding, its members, and the others
//
// Members are places in a list of the caller's. One whose value is not known does not take part.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "nccl_env/core/findings/finding.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env {

using Members = std::vector<std::size_t>;  // ascending

// Lists all of so many members, or those that `is_one` takes.
inline Members all_members(std::size_t count) {
  Members all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}
template <class IsOne>
Members members_where(std::size_t count, const IsOne& is_one) {
  Members those = all_members(count);
  std::erase_if(those, std::not_fn(is_one));
  return those;
}

// True if something is in both sets.
template <class Set>
bool meet(const Set& left, const Set& right) {
  return std::ranges::any_of(left, [&](const auto& each) { return right.contains(each); });
}

// "without mlx5_4; with mlx5_9": how the second list differs from the first, by at most so many names.
template <class Names>
std::string list_difference(const Names& from, const Names& to) {
  constexpr std::size_t kMostNames = 4;
  const auto only_in = [](const Names& of, const Names& others) {
    std::vector<std::string_view> names;
    for (const auto& name : of) {
      if (std::ranges::find(others, name) == others.end()) names.push_back(name);
    }
    return join_some(names, kMostNames);
  };
  const std::string without = only_in(from, to), with = only_in(to, from);
  return (without.empty() ? "" : "without " + without) + (without.empty() || with.empty() ? "" : "; ") +
         (with.empty() ? "" : "with " + with);
}

// Groups members by their value.
template <class T>
struct Shares {
  std::map<T, Members> members_with;
  std::size_t known = 0;  // members that take part

  void add(std::size_t member, T value) {
    members_with[std::move(value)].push_back(member);
    ++known;
  }
  // Returns nothing also where fewer than `least` take part.
  [[nodiscard]] std::optional<T> majority(std::size_t least = 1) const {
    for (const auto& [value, members] : members_with) {
      if (known >= least && members.size() * 2 > known) return value;
    }
    return std::nullopt;
  }
  // Returns the most frequent value, of several the one of the highest rank; nothing where nobody takes part.
  template <class Rank = std::identity>
  [[nodiscard]] std::optional<T> most(Rank rank = {}) const {
    const auto found = std::ranges::max_element(members_with, {}, [&](const auto& share) {
      return std::pair(share.second.size(), std::invoke(rank, share.first));
    });
    return found == members_with.end() ? std::nullopt : std::optional(found->first);
  }
};

// Returns the value that more than half have; where none is that frequent, nothing, and each is odd.
template <class T>
std::optional<T> majority_of(const Shares<T>& shares) {
  return shares.majority();
}
// The most frequent value; of equally frequent ones the greatest.
template <class T>
std::optional<T> most_of(const Shares<T>& shares) {
  return shares.most();
}

// Compares what `of` returns for each member: an optional value.
template <class Of>
auto shares_of(const Members& cohort, const Of& of) {
  Shares<typename std::invoke_result_t<Of, std::size_t>::value_type> shares;
  for (const std::size_t member : cohort) {
    if (auto value = of(member)) shares.add(member, *std::move(value));
  }
  return shares;
}

// Members that have the usual value; where there is none, another one.
struct Others {
  std::size_t count = 0;
  std::size_t first = 0;  // of those
};

template <class T>
struct Odd {
  T value;
  Members members;
  std::optional<T> usual;
  Others others;
};

// In the order of their values; none where all have the same, and no other value is told to be usual.
template <class T>
std::vector<Odd<T>> odd_ones(const Shares<T>& shares, const std::optional<T>& usual) {
  std::vector<Odd<T>> odd;
  const auto& all = shares.members_with;
  for (auto share = all.begin(); share != all.end(); ++share) {
    const auto& [value, members] = *share;
    if (value == usual || (!usual && all.size() < 2)) continue;
    const auto other = usual ? all.find(*usual) : share == all.begin() ? std::next(share) : all.begin();
    const std::size_t count = !usual               ? shares.known - members.size()
                              : other == all.end() ? 0
                                                   : other->second.size();
    odd.push_back({value, members, usual, {count, other == all.end() ? 0 : other->second.front()}});
  }
  return odd;
}

// A row: what the members of a cohort, or of each group of it, have to share.
template <class T>
struct Agreement {
  Code code;
  Severity severity;
  std::string_view variable;
  std::function<std::optional<T>(std::size_t member)> of;
  std::function<std::string(const Odd<T>& odd)> words;  // "": it is no fault
  std::string_view remedy = {};                         // "": the code's
  std::function<std::optional<T>(const Shares<T>& shares)> usual = majority_of<T>;
  std::function<std::optional<std::string>(std::size_t member)> group = {};  // empty: all are one
};

struct Difference {
  Finding finding;  // its subject has the variable alone
  Members members;
  Others others;
};

template <class T>
std::vector<Difference> differences(const Members& cohort, const Agreement<T>& row) {
  std::vector<Difference> found;
  const auto one = [](std::size_t) { return std::optional<std::string>(""); };
  const auto groups = row.group ? shares_of(cohort, row.group) : shares_of(cohort, one);
  for (const auto& [name, group] : groups.members_with) {
    const Shares<T> shares = shares_of(group, row.of);
    for (Odd<T>& odd : odd_ones(shares, row.usual(shares))) {
      std::string words = row.words(odd);
      if (words.empty()) continue;
      found.push_back({{row.code,
                        row.severity,
                        {.path = std::string(row.variable)},
                        std::move(words),
                        std::string(row.remedy)},
                       std::move(odd.members),
                       odd.others});
    }
  }
  return found;
}

}  // namespace nccl_env
