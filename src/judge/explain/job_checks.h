// SPDX-License-Identifier: Apache-2.0
// The checks of a job, each over all of its ranks.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "nccl_env/judge/cohort/cohort.h"
#include "nccl_env/judge/explain/job_ranks.h"

namespace nccl_env::job {

struct View {
  std::span<const AnsweredPod> members;
  const std::vector<JobRank>& ranks;
  std::string_view manifest = {};  // what its ranks are called, "rank", "template"; "" of a job

  [[nodiscard]] const AnsweredPod& member(std::size_t rank) const { return members[ranks[rank].member]; }
  [[nodiscard]] const PodRecord& record(std::size_t rank) const { return member(rank).record; }
  // The container of a compared rank that runs NCCL.
  [[nodiscard]] const GivenContainer& container(std::size_t rank) const {
    return *record(rank).main_container();
  }
  // The variable's value in that container; null where it has none.
  [[nodiscard]] const Value* given(std::size_t rank, std::string_view variable) const {
    return container(rank).find(variable);
  }
  [[nodiscard]] Members compared() const;
  // Without the missed ones, which are told once, by their own finding.
  [[nodiscard]] Members admitted() const;
};

// Returns the differences among the ranks, each once, in the order of the checks; members are places in the
// view's ranks, and may stand there twice. Of a manifest without what only pods of a cluster can tell.
std::vector<Difference> check(const View& view);

}  // namespace nccl_env::job
