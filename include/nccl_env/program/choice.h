// SPDX-License-Identifier: Apache-2.0
// Words of a command line that must be one of a few, and suggestions for misspelt ones.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace nccl_env::program {

// Returns ": do you mean WORD?" with the known word that is similar, whatever the case; "" if none is.
std::string suggestion(const std::string& word, const std::vector<std::string>& known);

// For an option's check(): the value is one of the words.
CLI::Validator one_of(std::vector<std::string> words);

}  // namespace nccl_env::program
