// SPDX-License-Identifier: Apache-2.0
// Compares the pod templates of one job's manifest: what has to be equal on all ranks and is not.
#pragma once

#include <span>
#include <string>

#include "nccl_env/core/explain/preview.h"

namespace nccl_env {

struct NamedTemplate {
  std::string path;  // "spec.pytorchReplicaSpecs.Master.template"
  Explanation* explanation;
};

// True for kinds of which every pod that gets values is a rank of one job.
bool holds_ranks_of_one_job(std::string_view kind);

// Adds ValuesDiffer to each template that sets a variable otherwise than another one does, MissingRail to one
// whose list, its own or its node's, is shorter, MixedLinks and OddNode to one whose node, network or own
// interface is another than that of most, and OddNode to one that asks for a GPU as others do and gets
// nothing.
void compare_templates(std::span<const NamedTemplate> of_one_job);

}  // namespace nccl_env
