// SPDX-License-Identifier: Apache-2.0
// The matcher itself is glob_matches in nccl_env/core/policy.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nccl_env {

// What is wrong with a glob that a person wrote: nothing can match it as meant. nullopt for a good one.
std::optional<std::string> glob_problem(std::string_view glob);

}  // namespace nccl_env
