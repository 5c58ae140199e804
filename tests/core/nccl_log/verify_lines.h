// SPDX-License-Identifier: Apache-2.0
// The verdict on a log that a test writes as text, without values of a pod.
#pragma once

#include <sstream>
#include <string>

#include "nccl_env/core/nccl_log/log_verify.h"
#include "nccl_env/core/nccl_log/nccl_log.h"

namespace nccl_env::tests {

inline NcclLog read_lines(const std::string& text) {
  NcclLogReader reader;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) reader.read_line(line);
  return reader.log();
}

inline LogVerification verify_lines(const std::string& text) {
  return verify_log(read_lines(text), {});
}

}  // namespace nccl_env::tests
