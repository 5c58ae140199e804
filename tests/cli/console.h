// SPDX-License-Identifier: Apache-2.0
// Text of a console, `$ nccl-env …` and what it prints, run again. Files below tests/ and policies/ are the
// repository's, other .yaml files the test's own; what ends in "> FILE" is written there.
#pragma once

#include "cli/cli_run.h"

namespace nccl_env::tests {

struct ConsoleExample {
  std::string command;  // without "nccl-env "
  std::string printed;
};

inline constexpr std::string_view kPrompt = "$ nccl-env ";

// The commands among the lines, each with the lines up to the next.
inline std::vector<ConsoleExample> console_examples(const std::vector<std::string>& lines) {
  std::vector<ConsoleExample> found;
  for (const std::string& line : lines) {
    if (line.starts_with(kPrompt)) {
      found.push_back({line.substr(kPrompt.size()), {}});
    } else if (!found.empty()) {
      found.back().printed += line + "\n";
    }
  }
  return found;
}

class ConsoleTest : public CliTest {
 protected:
  // Returns what the console shows.
  [[nodiscard]] std::string run(const std::string& command) const {
    std::vector<std::string> words;
    std::string target;
    std::istringstream text(command);
    for (std::string word; text >> word;) {
      if (word == ">") {
        text >> target;
      } else {
        words.push_back(resolve(word));
      }
    }
    const CliResult result = run_cli(words);
    if (!target.empty()) write(target, result.out);
    const std::string shown = (target.empty() ? result.out : "") + result.err;
    return without(without(shown, source_file("")), path(""));
  }

 private:
  [[nodiscard]] std::string resolve(const std::string& word) const {
    if (word.starts_with("tests/") || word.starts_with("policies/")) return source_file(word);
    return word.ends_with(".yaml") || word.ends_with(".html") ? path(word) : word;
  }

  static std::string without(std::string text, const std::string& prefix) {
    for (std::size_t at = 0; (at = text.find(prefix, at)) != std::string::npos;)
      text.erase(at, prefix.size());
    return text;
  }
};

}  // namespace nccl_env::tests
