// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "nccl_env/judge/explain/answered_pod.h"

namespace nccl_env {

// A pod of a job, which the labels of the job's operator name.
struct JobRank {
  std::string name;                     // "worker-3", "5"; the pod's name where labels do not tell
  std::string role;                     // "worker-": ranks of one role are alike
  std::size_t member = 0;               // its place among the members
  bool compared = false;                // false: not injected (a launcher), or finished while others run
  std::vector<std::string> hcas;        // of its exact list; empty where it has none
  std::string gid_index;                // "" where it has none
  bool missed = false;                  // missed at admission, judged by what the other ranks have
  bool replaced = false;                // it failed, and the rank has another pod that has not
  bool without = false;                 // asks for devices as the others, and was given nothing
  std::vector<std::string> lacks = {};  // of such a rank: resources that those with values all ask for
  bool odd = false;                     // an error or a warning names it
};

// All members, in natural order of their names; pods that have finished are compared only if all have.
std::vector<JobRank> make_ranks(std::span<const AnsweredPod> members);
// "worker-3" of Kubeflow, "workers-0-2" of a JobSet, "0-3" of a LeaderWorkerSet, "worker-1" of Volcano, "5"
// of a Job or StatefulSet; the pod's name where its labels do not tell.
std::string rank_name(const PodRecord& record);

}  // namespace nccl_env
