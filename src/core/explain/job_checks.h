// SPDX-License-Identifier: Apache-2.0
// The checks of a job, each over all of its ranks.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "nccl_env/core/cohort/cohort.h"
#include "nccl_env/core/explain/job_ranks.h"
#include "nccl_env/core/explain/pod_answer.h"

namespace nccl_env::job {

struct View {
  std::span<const AnsweredPod> members;
  const std::vector<JobRank>& ranks;
  std::string_view manifest = {};  // what its ranks are called, "rank", "template"; "" of a job

  [[nodiscard]] const AnsweredPod& member(std::size_t rank) const { return members[ranks[rank].member]; }
  [[nodiscard]] const PodRecord& record(std::size_t rank) const { return member(rank).record; }
  // The variable's value in the container of a compared rank; null where it has none.
  [[nodiscard]] const Value* given(std::size_t rank, std::string_view variable) const {
    return record(rank).main_container()->find(variable);
  }
  [[nodiscard]] Members compared() const;
  // Without the missed ones, which are told once, by their own finding.
  [[nodiscard]] Members admitted() const;
};

// Differences among ranks, by their places in JobAnswer::ranks.
struct Founds {
  std::vector<Difference> all;
  std::map<std::tuple<Code, std::string, std::string>, std::size_t> places;  // by code, variable and sentence
};

void check_pods(const View& view, Founds& into);      // missed, held back, changed since they were bound
void check_demands(const View& view, Founds& into);   // given nothing, and asks for devices as others do
void check_policy(const View& view, Founds& into);    // and generation
void check_form(const View& view, Founds& into);      // how the values come
bool check_networks(const View& view, Founds& into);  // the node's or not: true if that differs
void check_secondary_networks(const View& view, Founds& into);
void check_values(const View& view, Founds& into);   // variables that have to be equal
void check_rails(const View& view, Founds& into);    // HCAs
void check_links(const View& view, Founds& into);    // RoCE or InfiniBand
void check_reasons(const View& view, Founds& into);  // what a node alone cannot give
void check_nodes(const View& view, Founds& into);    // ranks of one node, and the GID index

}  // namespace nccl_env::job
