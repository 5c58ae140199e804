// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/unknown_failure.h"

#include <algorithm>

#include "nccl_env/core/nccl_log/log_text.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

using std::string_view;

constexpr KnownLine row_of(LineKind kind, Code code, string_view meaning, string_view remedy) {
  KnownLine row;
  row.kind = kind;
  row.code = code;
  row.meaning = meaning;
  row.remedy = remedy;
  return row;
}

constexpr KnownLine kError = row_of(LineKind::Failure, Code::UnknownWarning,
                                    "A program tells an error that is not known here, the first in the log.",
                                    "Read it, the lines above it, and that process's log.");
constexpr KnownLine kRankError =
    row_of(LineKind::Failure, Code::UnknownWarning,
           "An error that is not known here ended a rank; what others tell of that follows from it.",
           "Read it, the lines above it, and that process's log.");
constexpr KnownLine kTimeout =
    row_of(LineKind::Echo, Code::TimedOut,
           "A program waited in vain for another process or an answer, and this line does not tell why.",
           "Look for that process's first error, in its log and above this line.");

// How a process ended, by the number of the signal: shells and containers tell 128 more, Python its negative.
struct ProcessEnd {
  int signal;
  KnownLine row;
};
constexpr ProcessEnd kEnds[] = {
    {9,
     row_of(LineKind::Failure, Code::Killed,
            "A process was killed from outside (SIGKILL): most often the kernel, where the host's or "
            "container's memory ran out, else a person or launcher.",
            "Look at the pod's last state (OOMKilled) and at dmesg on that node; raise the memory limit, or "
            "load less in each process.")},
    {7,
     row_of(LineKind::Failure, Code::Crashed,
            "A process got a bus error (SIGBUS): most often /dev/shm has no room (64 MiB by default in a "
            "container).",
            "Look at df /dev/shm in the container; give it an emptyDir with medium: Memory, or --shm-size.")},
    {11, row_of(LineKind::Failure, Code::Crashed,
                "A process crashed (segmentation fault), and this line does not tell why.",
                "Read the backtrace near it, or a core file's (python -X faulthandler).")},
    {6,
     row_of(
         LineKind::Echo, Code::Crashed,
         "A process aborted (SIGABRT) after an error that it told before: an uncaught exception, CUDA's, or "
         "PyTorch's watchdog.",
         "Read the lines of that process above this one.")},
    {15,
     row_of(LineKind::Echo, Code::Killed,
            "A process was asked to end (SIGTERM): by its launcher after another process failed, else by a "
            "scheduler or person.",
            "Look for the process that failed before it; else at the pod's events.")}};

// "srun: error: train-1: tasks 0-7: Exited with exit code 1".
constexpr KnownLine kTaskEnd =
    row_of(LineKind::Echo, Code::GaveUp,
           "Slurm tells that tasks ended with an exit code of their own: most often a program's error, which "
           "stands in their lines.",
           "Read the first error of those tasks above this line, or in their log (sacct -j JOB -o "
           "jobid,state,exitcode).");

constexpr string_view kNumbersBehind[] = {"exit code",   "exitcode",   "exit_code",     "exit status",
                                          "return code", "returncode", "returned code", "exited with code",
                                          "Exit code",   "Exit Code",  "exited with"};
constexpr int kShells = 128;

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
constexpr string_view kTimeouts[] = {"timed out", "Timed out", "timeout", "Timeout", "time out"};
constexpr string_view kFatal[] = {
    "what():  ", "Fatal error: ", "fatal error: ", "[FATAL]", "FATAL: ", "panic: "};

// "torch.cuda.OutOfMemoryError" before ": " of a line's text: where it begins, or npos.
std::size_t exception_at(string_view line, std::size_t end, bool echoes = false) {
  std::size_t begin = end;
  while (begin > 0 && end - begin < kLongestName &&
         (is_alphanumeric(line[begin - 1]) || line[begin - 1] == '_' || line[begin - 1] == '.'))
    --begin;
  const string_view name = line.substr(begin, end - begin);
  const string_view last = name.substr(name.rfind('.') + 1);
  const bool ends = last.ends_with("Error") || last.ends_with("Exception");
  // "Error: " alone is anybody's word.
  if (!ends || last.size() < 7 || last.front() < 'A' || last.front() > 'Z' ||
      (!echoes && std::ranges::find(kEchoes, last) != std::end(kEchoes)))
    return line.npos;
  return begin == 0 || line[begin - 1] == ' ' ? begin : line.npos;
}

// True if a logger tells by its level, among the first words, that the program goes on.
bool is_of_lower_level(string_view line) {
  constexpr string_view kAround = "[]():,|";
  constexpr string_view kLower[] = {"INFO", "WARN", "WARNING", "DEBUG", "Warning", "warning"};
  for (int words = 0; words < 5 && !line.empty(); ++words) {
    string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(word.size() + 1, line.size()));
    word = word.substr(std::min(word.find_first_not_of(kAround), word.size()));
    word = word.substr(0, word.find_last_not_of(kAround) + 1);
    if (word == "ERROR" || word == "CRITICAL" || word == "FATAL") return false;
    if (std::ranges::find(kLower, word) != std::end(kLower)) return true;
  }
  return false;
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

// The signal of "exit code: -9", "exited with code 137", "return code = -11"; 0 if the text names none.
int signal_in(string_view text) {
  text = text.substr(std::min(text.find_first_not_of(" :=(\"'"), text.size()));
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const auto number = number_behind(text, "");
  if (!number || *number > 2 * kShells) return 0;
  return negative ? static_cast<int>(*number) : static_cast<int>(*number) - kShells;
}

}  // namespace

const KnownLine& asked_to_end() {
  return std::ranges::find(kEnds, 15, &ProcessEnd::signal)->row;
}

std::optional<NcclFailure> read_process_end(std::string_view line) {
  // A shell's own word, alone or behind the process's number.
  if (line == "Killed" || line.find(" Killed  ") != line.npos) return failure_of_line(kEnds[0].row, line);
  if (line == "Terminated") return failure_of_line(asked_to_end(), line);
  if (line.find("revious exit") != line.npos) return std::nullopt;
  for (const string_view mark : kNumbersBehind) {
    const auto rest = text_behind(line, mark);
    const int signal = rest ? signal_in(*rest) : 0;
    const auto end = std::ranges::find(kEnds, signal, &ProcessEnd::signal);
    if (end != std::end(kEnds)) return failure_of_line(end->row, line);
  }
  if (line.find("srun: error: ") != line.npos && line.find(": Exited with exit code ") != line.npos)
    return failure_of_line(kTaskEnd, line);
  return std::nullopt;
}

std::string exception_of(std::string_view line) {
  const std::size_t end = line.find(": ");
  const bool begins = end != line.npos && exception_at(line, end, true) == 0;
  return begins ? std::string(line.substr(0, kLongestQuote)) : std::string();
}

std::optional<NcclFailure> read_unknown_failure(std::string_view line, bool behind) {
  const std::size_t at = error_at(line);
  if (at == line.npos) return std::nullopt;
  const string_view error = line.substr(at);
  if (is_of_lower_level(line.substr(0, at)) && !begins_with_any(error, kFatal)) return std::nullopt;
  const bool waited =
      std::ranges::any_of(kTimeouts, [&](string_view words) { return error.find(words) != error.npos; });
  NcclFailure failure = failure_of_line(waited ? kTimeout : behind ? kRankError : kError, line);
  failure.summary = error.substr(0, kLongestQuote);
  return failure;
}

}  // namespace nccl_env
