// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/terminal.h"

#include <ostream>

#include "nccl_env/core/text/columns.h"

namespace nccl_env::program {

int stop(const Terminal& terminal, ExitCode code, const std::string& message) {
  terminal.err << "nccl-env: " << printable(message) << '\n';
  return code;
}

}  // namespace nccl_env::program
