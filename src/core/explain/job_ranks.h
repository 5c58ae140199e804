// SPDX-License-Identifier: Apache-2.0
// What the labels of a job's controller say of a pod.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "nccl_env/core/explain/job.h"

namespace nccl_env {

// "worker-3" of Kubeflow, "workers-0-2" of a JobSet, "0-3" of a LeaderWorkerSet, "worker-1" of Volcano, "5"
// of a Job or StatefulSet; the pod's name where its labels do not tell.
std::string rank_name(const PodRecord& record);

// All members, named and sorted; pods that have finished are compared only if all have.
std::vector<JobRank> make_ranks(std::span<const JobMember> members);

}  // namespace nccl_env
