// SPDX-License-Identifier: Apache-2.0
// Completion of command lines from the commands' own description, so that no option
// is written down twice.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace nccl_env::cli {

struct Candidate {
  std::string text;
  std::string description;  // the first sentence; may be ""
};

struct Completion {
  std::vector<Candidate> candidates;
  bool files = false;  // file names fit, too
};

// Finds the words that may stand in place of the last one, which may be typed in part already. `words` are
// those after the program's name; a lone "=" is from bash, which splits --output=json into three words.
Completion complete(const CLI::App& root, std::vector<std::string> words);

// Renders it as kubectl and the shells' scripts read it: lines TEXT[TAB DESCRIPTION], and at the end :0 if
// file names fit, else :4 (cobra's ShellCompDirectiveNoFileComp).
std::string render(const Completion& completion);

}  // namespace nccl_env::cli
