// SPDX-License-Identifier: Apache-2.0
// Words of command lines that are among a few, and the one that a misspelt word is near.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace nccl_env::app {

// ": do you mean WORD?" with the known word that it is near, whatever the case; "" if there is none.
std::string suggestion(const std::string& word, const std::vector<std::string>& known);

// For an option's check(): the value is one of the words.
CLI::Validator one_of(std::vector<std::string> words);

}  // namespace nccl_env::app
