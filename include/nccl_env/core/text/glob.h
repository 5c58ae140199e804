// SPDX-License-Identifier: Apache-2.0
// Globs over names, as policies write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nccl_env {

// Says why nothing can match a glob as the person who wrote it meant it; nullopt for a good glob.
std::optional<std::string> glob_problem(std::string_view glob);

// fnmatch(3) without FNM_PATHNAME: *, ?, [a-c], [!a]. Case-sensitive.
bool glob_matches(std::string_view glob, std::string_view text);

}  // namespace nccl_env
