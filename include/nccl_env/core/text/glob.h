// SPDX-License-Identifier: Apache-2.0
// Globs over names, as policies write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nccl_env {

// Says what is wrong with a glob that a person wrote: nothing can match it as meant. nullopt for a good one.
std::optional<std::string> glob_problem(std::string_view glob);

// fnmatch(3) without FNM_PATHNAME: *, ?, [a-c], [!a]. Case-sensitive.
bool glob_matches(std::string_view glob, std::string_view text);

}  // namespace nccl_env
