// SPDX-License-Identifier: Apache-2.0
// Tells what is wrong with a command line that CLI11 refused.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace nccl_env::cli {

// Returns a sentence that names the first word that is not known, with a known one that is similar, and the
// command whose --help tells more. `refusal` is CLI11's own sentence, for any other problem. Returns "" if
// all words are known and `refusal` is empty. `words`: the command line without the program's name.
std::string usage_problem(const CLI::App& root, const std::vector<std::string>& words,
                          const std::string& refusal);

}  // namespace nccl_env::cli
