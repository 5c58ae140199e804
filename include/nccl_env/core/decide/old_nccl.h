// SPDX-License-Identifier: Apache-2.0
// An NCCL that is too old for what the policy counts on.
#pragma once

#include <string>
#include <string_view>

#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/policy/reasons.h"

namespace nccl_env {

// Begins a sentence: the container's NCCL is too old to search for a GID index, by `version` if that is, else
// by its NCCL_VERSION or its image's name. "" where they do not tell.
std::string old_nccl(const Container& container, const NcclVersion& version);
// Says that, and that a RoCE fabric of the policy counts on the search.
std::string search_problem(const Container& container, const NcclPolicy& policy,
                           const NcclVersion& version = kNewestNccl);
// True if that holds for a container without an index, for this reason.
bool is_left_to_nccl(Reason omitted);
// True for the reasons by which the user's own variable or file decides; false for any other text.
bool is_users(std::string_view reason);

}  // namespace nccl_env
