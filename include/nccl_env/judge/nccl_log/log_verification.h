// SPDX-License-Identifier: Apache-2.0
// The verdict of NCCL's log on the values that a pod was given (docs/use/explain.md).
//
//   lines --> [ NcclLogReader ] --> [ NcclLog ]: facts, lines --> [ VerifiedValue ]*, one a given value
//                                       |
//                                       +--> [ NcclFailure ]* --> [ VerifiedFailure ]*: with its value
//
// A log is a value of bounded size, whatever it was read from, and it owns its texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/decide/value.h"
#include "nccl_env/core/findings/finding.h"
#include "nccl_env/judge/nccl_log/nccl_log.h"

namespace nccl_env {

enum class LogVerdict { Used, Overridden, NotSeen, Contradicted, Failed, PartlyUsed };
std::string_view to_string(LogVerdict verdict);  // used, overridden, not seen, …, partly used

// A value that the pod was given, with its text and container, and what the log says of it.
struct VerifiedValue : Value {
  LogVerdict verdict = LogVerdict::NotSeen;
  std::string evidence;    // one sentence
  std::uint64_t line = 0;  // of the log; 0 where nothing was seen
};

// A failure that the log tells, and the value that caused it.
struct VerifiedFailure {
  NcclFailure failure;
  bool counts = true;    // false: NCCL tries again, or does without what failed
  std::string variable;  // "": no value is known to be the cause
  std::string value;     // of the pod, else as NCCL reads it
  bool of_pod = false;
  bool given = false;  // the pod was given values
};

struct LogVerification {
  std::vector<VerifiedValue> values;
  std::vector<VerifiedFailure> failures;  // in the order of lines, then what no line alone tells
  std::optional<std::size_t> cause;       // of `failures`: the one that is nearest to the cause
  bool fell_back = false;                 // to sockets, though nobody turned the fabric off
  bool one_host = false;                  // sockets, and nothing shows that the job has a second host
  std::vector<Finding> findings;   // the cause, the other failures, what halves or hangs a job, the values
  std::vector<std::string> notes;  // the fall-back, what else is worth knowing; a sentence each
  std::string sentence;            // the diagnosis: what it all means, and what to do
};

}  // namespace nccl_env
