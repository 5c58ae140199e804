// SPDX-License-Identifier: Apache-2.0
// Compares the pod templates of one job's manifest: what has to be equal on all ranks and is not.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "nccl_env/judge/explain/answered_pod.h"

namespace nccl_env {

struct NamedTemplate {
  std::string path;  // "spec.pytorchReplicaSpecs.Master.template"
  AnsweredPod* told;
};

// True for kinds of which every pod that gets values is a rank of one job.
bool holds_ranks_of_one_job(std::string_view kind);

// Adds to each template what the checks of a job say of the pods that come of it (explain/job_checks.h), and
// that its own findings do not say: ValuesDiffer, MissingRail, MixedLinks, OddNode.
void compare_templates(std::span<const NamedTemplate> of_one_job);

// Moves what is wrong with the rank's value of the variable to the template whose command gives it to all
// ranks, where it is mended. Infos stay, and all of a value that is the rank's own.
void tell_at_launcher(std::string_view variable, AnsweredPod& rank, PodAnswer& launcher);

}  // namespace nccl_env
