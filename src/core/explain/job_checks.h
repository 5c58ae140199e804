// SPDX-License-Identifier: Apache-2.0
// The checks of a job, each over all of its ranks.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "nccl_env/core/explain/job_ranks.h"
#include "nccl_env/core/explain/pod_answer.h"

namespace nccl_env::job {

struct View {
  std::span<const AnsweredPod> members;
  const std::vector<JobRank>& ranks;

  [[nodiscard]] const AnsweredPod& member(std::size_t rank) const { return members[ranks[rank].member]; }
  [[nodiscard]] const PodRecord& record(std::size_t rank) const { return member(rank).record; }
};

using RankIndexes = std::vector<std::size_t>;
// A finding, and its ranks in JobAnswer::ranks.
struct Found {
  Finding finding;
  RankIndexes ranks;
};
struct Founds {
  std::vector<Found> all;
  std::map<std::tuple<Code, std::string, std::string>, std::size_t> places;  // by code, variable and sentence
};

// Adds the ranks to the finding that says the same, or makes one.
void add(Founds& into, Code code, Severity severity, const RankIndexes& ranks, std::string sentence,
         std::string_view variable = {}, std::string remedy = {});

// Returns the value that more than half of the ranks have; of two ranks, neither.
template <class T>
std::optional<T> most(const std::map<T, RankIndexes>& ranks_of) {
  std::size_t all = 0;
  for (const auto& [value, ranks] : ranks_of) all += ranks.size();
  for (const auto& [value, ranks] : ranks_of) {
    if (ranks.size() * 2 > all) return value;
  }
  return std::nullopt;
}

void check_pods(const View& view, Founds& into);    // missed, held back, changed since they were bound
void check_policy(const View& view, Founds& into);  // and generation
void check_form(const View& view, Founds& into);    // how the values come
void check_values(const View& view, Founds& into);  // variables that have to be equal
void check_rails(const View& view, Founds& into);   // HCAs, and what a node alone cannot give
void check_nodes(const View& view, Founds& into);   // ranks of one node, and the GID index

}  // namespace nccl_env::job
