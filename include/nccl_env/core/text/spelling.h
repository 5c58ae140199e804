// SPDX-License-Identifier: Apache-2.0
// Finds the known word that a misspelt one is near.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace nccl_env {

// The candidate that is at most so many edits away, whatever the case; empty if there is none.
std::string_view nearest(std::string_view text, std::span<const std::string_view> candidates,
                         std::size_t edits = 2);
bool equal_ignoring_case(std::string_view left, std::string_view right);

}  // namespace nccl_env
