// SPDX-License-Identifier: Apache-2.0
// Durations on command lines: 90s, 15m, 3h or 30d, at most a hundred years. A number without a unit is
// refused, except 0: whoever writes 3 may mean hours.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <string>

#include "nccl_env/result.h"

namespace nccl_env::program {

Result<std::chrono::seconds> parse_duration(const std::string& text);

// For an option's check(): reads its value into `into`.
CLI::Validator duration(std::chrono::seconds& into);

}  // namespace nccl_env::program
