// SPDX-License-Identifier: Apache-2.0
// Finds the known word that a misspelt one is near.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace nccl_env {

// The nearest candidate, whatever the case: at most `edits` edits away, and at most half as many as `text`
// has characters; empty if there is none.
std::string_view nearest(std::string_view text, std::span<const std::string_view> candidates,
                         std::size_t edits = 2);
bool equal_ignoring_case(std::string_view left, std::string_view right);

}  // namespace nccl_env
