// SPDX-License-Identifier: Apache-2.0
// The program nccl-env as a function (docs/cli.md).
#pragma once

#include <iosfwd>

namespace nccl_env::app {

struct Terminal {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

// What a command ends with.
enum ExitCode : int {
  kDone = 0,
  kRefused = 1,  // a finding, an input that was refused or could not be read
  kUsage = 2,
  kNoDevices = 3,  // the table holds no port
};

// Nothing of a refused input reaches `out`.
int run_cli(int argc, const char* const* argv, const Terminal& terminal);

}  // namespace nccl_env::app
