// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>

namespace nccl_env::app {

// For an option's check(): "90", "90s", "15m", "3h", "30d" into `into`, at most a hundred years.
CLI::Validator duration(std::chrono::seconds& into);

}  // namespace nccl_env::app
