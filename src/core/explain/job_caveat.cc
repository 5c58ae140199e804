// SPDX-License-Identifier: Apache-2.0
#include "explain/job_caveat.h"

#include <cstdint>
#include <map>
#include <set>
#include <string_view>

#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env::job {
namespace {

constexpr std::int64_t kMostRanks = 1'000'000;

// "worker-2" where pods of worker-1 and worker-3 are there, and most numbers between the first and the last;
// "" if there is no gap.
std::string rank_without_pod(const View& view) {
  std::map<std::string, std::set<std::uint64_t>> numbers_of;
  for (const AnsweredPod& member : view.members) {
    const std::string name = rank_name(member.record);
    const std::size_t end = name.find_last_not_of("0123456789") + 1;  // 0: digits alone
    const auto number = plain_decimal(std::string_view(name).substr(end));
    if (number && *number < kMostRanks && (end == 0 || name[end - 1] == '-'))
      numbers_of[name.substr(0, end)].insert(static_cast<std::uint64_t>(*number));
  }
  for (const auto& [prefix, numbers] : numbers_of) {
    const std::uint64_t absent = *numbers.rbegin() - *numbers.begin() + 1 - numbers.size();
    if (absent == 0 || absent > numbers.size()) continue;
    std::uint64_t next = *numbers.begin();
    while (numbers.contains(next)) ++next;
    return prefix + std::to_string(next);
  }
  return {};
}

std::string of_old_tables(const View& view) {
  std::set<std::string> nodes;
  for (const std::size_t rank : view.compared()) {
    const AnsweredPod& member = view.member(rank);
    if (member.answer.node_unseen && member.around.table) nodes.insert(member.record.node);
  }
  if (nodes.empty()) return {};
  if (nodes.size() == 1) return "the table of " + *nodes.begin() + " is too old to tell how it is now.";
  return "the tables of " + std::to_string(nodes.size()) + " nodes are too old to tell how they are now.";
}

// Names a value, or envFrom, that some ranks alone take from elsewhere.
std::string of_values_elsewhere(const View& view) {
  const Members ranks = view.admitted();
  std::map<std::string, Members> unknown;
  for (const std::size_t rank : ranks) {
    const GivenContainer& container = *view.record(rank).main_container();
    if (container.env_from) unknown["envFrom"].push_back(rank);
    for (const Value* value : container.effective()) {
      const bool elsewhere = value->state == State::Users && !value->value;
      const Variable* known = elsewhere ? find_variable(value->name) : nullptr;
      if (known && known->ranks == Ranks::Equal) unknown[value->name].push_back(rank);
    }
  }
  for (const auto& [name, of] : unknown) {
    if (of.size() < ranks.size())
      return name + " of rank " + view.ranks[of.front()].name +
             " is not in the pod's text, and was not compared.";
  }
  return {};
}

// Names the user's own value for RDMA that no table can check.
std::string of_own_values(const View& view) {
  constexpr std::size_t kLongestValue = 60;
  for (const std::string_view name : {variable::kIbHca, variable::kIbGidIndex, variable::kSocketIfname}) {
    std::size_t own = 0;
    const Value* first = nullptr;
    for (const std::size_t rank : view.compared()) {
      const auto& status = view.record(rank).status;
      const bool own_rows = name == variable::kIbGidIndex && status && status->exposure &&
                            *status->exposure != Exposure::Host;  // which no table of a node has
      if (!view.member(rank).answer.node_unseen && !own_rows) continue;
      const Value* value = view.given(rank, name);
      if (!value || value->state != State::Users || !value->value) continue;
      if (++own == 1) first = value;
    }
    if (first)
      return first->name + "=" + cut(*first->value, kLongestValue) + " is the user's own on " +
             count_of(own, "rank") + ", and no table tells whether it is right.";
  }
  return {};
}

}  // namespace

std::string caveat(const View& view) {
  if (const std::string absent = rank_without_pod(view); !absent.empty())
    return "there is no pod of rank " + absent + ".";
  for (const auto& of : {of_old_tables, of_values_elsewhere, of_own_values}) {
    if (std::string text = of(view); !text.empty()) return text;
  }
  return {};
}

}  // namespace nccl_env::job
