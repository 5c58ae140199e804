// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/terminal.h"

#include <algorithm>
#include <ostream>

#include "nccl_env/core/text/columns.h"

namespace nccl_env::program {

ExitCode code_of(const std::vector<Finding>& findings, Severity least) {
  const auto counts = [&](const Finding& finding) { return finding.severity <= least; };
  return std::ranges::any_of(findings, counts) ? kFinding : kDone;
}

int stop(const Terminal& terminal, ExitCode code, const std::string& message) {
  terminal.err << terminal.program << ": " << printable(message) << '\n';
  return code;
}

}  // namespace nccl_env::program
