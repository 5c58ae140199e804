// SPDX-License-Identifier: Apache-2.0
// The maps of a policy: constants of spec.env and of variants, and labels of nodes.
#pragma once

#include "nccl_env/core/policy/description.h"
#include "policy/fields.h"

namespace nccl_env {

void read_constants(const PolicyInput& in, std::string_view name, described::Constants kind,
                    ConstantMap& out);
void read_labels(const PolicyInput& in, std::string_view name, described::LabelGlobs kind, ConstantMap& out);
// Judges them beside the policy's other fields, once all have been read.
void check_constants(const PolicyInput& spec, const NcclPolicy& policy);

}  // namespace nccl_env
