// SPDX-License-Identifier: Apache-2.0
// The constants of a policy: spec.env, and what spec.variants have for nodes of one kind.
#pragma once

#include "nccl_env/core/policy/policy.h"
#include "policy/fields.h"

namespace nccl_env {

void read_constants(const Fields& spec, const PolicyOptions& options, Findings& findings, NcclPolicy& policy);
// Judges them beside the policy's other fields, once all have been read.
void check_constants(const Fields& spec, Findings& findings, const NcclPolicy& policy);

}  // namespace nccl_env
