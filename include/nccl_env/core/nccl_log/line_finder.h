// SPDX-License-Identifier: Apache-2.0
// Finds the row of a known line.
#pragma once

#include <string_view>
#include <vector>

#include "nccl_env/core/findings/catalogue.h"
#include "nccl_env/core/nccl_log/known_line.h"

namespace nccl_env {

// Returns the row that finds the line, the one with the most words where several do; nullptr if none does.
const KnownLine* find_known_line(std::string_view line);
// Returns the row that tells what kind of error a line tells that no row finds; nullptr if none does, and if
// the line tells no error.
const KnownLine* find_hint(std::string_view line);
// Returns the row that says more of a failure with this code and text; nullptr if none fits.
const KnownLine* refine_line(Code code, std::string_view text);
// All rows, those with the most words first.
const std::vector<KnownLine>& known_lines();

}  // namespace nccl_env
