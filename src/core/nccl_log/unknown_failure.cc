// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/unknown_failure.h"

#include <algorithm>

#include "nccl_env/core/nccl_log/log_text.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

using std::string_view;

constexpr KnownLine kError = [] {
  KnownLine row;
  row.meaning =
      "A program tells an error that is not known here, and nothing before it in the log failed: most likely "
      "it "
      "is the cause.";
  row.remedy = "Read it, the lines above it, and that process's log.";
  return row;
}();

constexpr std::size_t kLongestName = 96, kLongestQuote = 300;

// Exceptions that tell of another process's end, of a person's, or that programs meet and go on.
constexpr string_view kEchoes[] = {"ChildFailedError",       "ProcessExitedException",
                                   "ProcessRaisedException", "CalledProcessError",
                                   "EngineDeadError",        "KeyboardInterrupt",
                                   "BrokenPipeError",        "ConnectionResetError",
                                   "ConnectionAbortedError", "EOFError",
                                   "IncompleteReadError",    "CancelledError",
                                   "ModuleNotFoundError",    "ImportError",
                                   "DistBackendError",       "DistStoreError",
                                   "ActorDiedError",         "ActorUnavailableError"};
constexpr string_view kFatal[] = {
    "what():  ", "Fatal error: ", "fatal error: ", "[FATAL]", "FATAL: ", "panic: "};

// "torch.cuda.OutOfMemoryError" before ": " of a line's text: where it begins, or npos.
std::size_t exception_at(string_view line, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && end - begin < kLongestName &&
         (is_alphanumeric(line[begin - 1]) || line[begin - 1] == '_' || line[begin - 1] == '.'))
    --begin;
  const string_view name = line.substr(begin, end - begin);
  const string_view last = name.substr(name.rfind('.') + 1);
  const bool ends = last.ends_with("Error") || last.ends_with("Exception");
  // "Error: " alone is anybody's word.
  if (!ends || last.size() < 7 || last.front() < 'A' || last.front() > 'Z' ||
      std::ranges::find(kEchoes, last) != std::end(kEchoes))
    return line.npos;
  return begin == 0 || line[begin - 1] == ' ' ? begin : line.npos;
}

std::size_t error_at(string_view line) {
  for (const string_view mark : kFatal) {
    if (const std::size_t at = line.find(mark); at != line.npos) return at;
  }
  const std::size_t end = line.find(": ");
  for (std::size_t at = end; at != line.npos; at = line.find(": ", at + 1)) {
    if (const std::size_t begin = exception_at(line, at); begin != line.npos) return begin;
  }
  return line.npos;
}

}  // namespace

std::optional<NcclFailure> read_unknown_failure(std::string_view line) {
  const std::size_t at = error_at(line);
  if (at == line.npos) return std::nullopt;
  NcclFailure failure = failure_of_line(kError, line);
  failure.summary = line.substr(at, kLongestQuote);
  return failure;
}

}  // namespace nccl_env
