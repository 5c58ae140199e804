// SPDX-License-Identifier: Apache-2.0
// The pods of a job as its ranks, which are named by the labels of the job's operator.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "nccl_env/core/explain/pod_answer.h"

namespace nccl_env {

struct JobRank {
  std::string name;               // "worker-3", "5"; the pod's name where labels do not tell
  std::size_t member = 0;         // its place among the members
  bool compared = false;          // false: not injected (a launcher), or finished while others run
  std::vector<std::string> hcas;  // of its exact list; empty where it has none
  std::string gid_index;          // "" where it has none
  bool missed = false;            // missed at admission, judged by what the other ranks have
  bool odd = false;               // an error or a warning names it
};

// All members, in natural order of their names; pods that have finished are compared only if all have.
std::vector<JobRank> make_ranks(std::span<const AnsweredPod> members);

}  // namespace nccl_env
