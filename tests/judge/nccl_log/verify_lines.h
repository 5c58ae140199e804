// SPDX-License-Identifier: Apache-2.0
// What is read of a log that a test writes as text, and the verdict on it.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "nccl_env/judge/nccl_log/log_verify.h"
#include "nccl_env/judge/nccl_log/nccl_log.h"
#include "support/matchers.h"

namespace nccl_env::tests {

inline NcclLog read_lines(std::istream& lines) {
  NcclLogReader reader;
  for (std::string line; std::getline(lines, line);) reader.read_line(line);
  return reader.log();
}

inline NcclLog read_lines(const std::string& text) {
  std::istringstream lines(text);
  return read_lines(lines);
}

inline LogVerification verify_lines(const std::string& text, const std::vector<Value>& given = {}) {
  return verify_log(read_lines(text), given);
}

}  // namespace nccl_env::tests
