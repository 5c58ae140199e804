// SPDX-License-Identifier: Apache-2.0
// Mistakes on the command lines of all programs, in one form.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace nccl_env::program {

// The names of an app's commands, and of its options: "--output".
std::vector<std::string> command_names(const CLI::App& app);
std::vector<std::string> option_names(const CLI::App& app);

struct Usage {
  std::string problem;
  std::string help;  // the command that tells more: "nccl-env table --help"

  [[nodiscard]] std::string sentence() const { return problem + " (see " + help + ")"; }
};

// Names the first word that is not known, with a known one that is similar; else gives `refusal`, CLI11's own
// sentence. `words`: the command line without the program's name.
Usage usage_problem(const CLI::App& root, const std::vector<std::string>& words, const std::string& refusal);

enum class Reader { Person, Log };

// Returns the exit code of a mistake on the command line, 2. Prints the mistake as plain text for a person,
// and if stderr is a terminal; else as a line "could not start", because stderr is then a container's log.
int refuse_usage(const Usage& usage, Reader reader);

}  // namespace nccl_env::program
