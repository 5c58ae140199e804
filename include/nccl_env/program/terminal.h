// SPDX-License-Identifier: Apache-2.0
// Streams, exit codes and the form of an error, for the programs that people start.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "nccl_env/core/findings/finding.h"

namespace nccl_env::program {

struct Terminal {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  std::size_t width = 0;             // columns, where `out` is a terminal
  const char* program = "nccl-env";  // begins the line of an error
};

// Exit code of a command.
enum ExitCode : int {
  kDone = 0,
  kFinding = 1,
  kUsage = 2,
  kNothing = 3,  // nothing to look at: a table without a port, a log without a line of NCCL's
  kNotSeen = 4,  // could not look, or write: a file or cluster that cannot be read, an input that was refused
};

// The rule for all commands that find something: kFinding if one is as urgent as `least`.
ExitCode code_of(const std::vector<Finding>& findings, Severity least = Severity::Warning);

// An early end of a command; kDone: the command goes on.
struct Failure {
  ExitCode code = kDone;
  std::string message{};

  explicit operator bool() const { return code != kDone; }
};

// Prints one line with the message to `err` and returns the code.
int stop(const Terminal& terminal, ExitCode code, const std::string& message);
inline int stop(const Terminal& terminal, const Failure& failure) {
  return stop(terminal, failure.code, failure.message);
}

}  // namespace nccl_env::program
