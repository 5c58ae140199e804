// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/ended_elsewhere.h"

#include <algorithm>
#include <cstddef>

#include "nccl_env/core/nccl_log/log_mark.h"
#include "nccl_env/core/nccl_log/log_text.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

using std::string_view;

constexpr string_view kForms[] = {"ut of memory",
                                  "OutOfMemory",
                                  "OOMKilled",
                                  "Killed process",
                                  "Segmentation fault",
                                  "core dumped",
                                  "Caught signal ",
                                  "Cuda failure",
                                  "CUDA error: ",
                                  "illegal memory access",
                                  "device-side assert triggered",
                                  "NVRM: Xid",
                                  "undefined symbol: "};

// Mark a line that tells another process's end, a person's wish, or NCCL's own error.
constexpr string_view kEchoes[] = {
    "NCCL",          "nccl",          "onnect",     "imed out",    "imeout",        "peer",
    "ocket",         "gloo",          "Gloo",       "Dist",        "Broken pipe",   "UCX",
    "NVSHMEM",       "EOFError",      "Keyboard",   "ChildFailed", "CalledProcess", "Cancelled",
    "ProcessExited", "ProcessRaised", "EngineDead", "ActorDied"};

// "ValueError: …", "torch.cuda.OutOfMemoryError: …", "AssertionError": the last line of a traceback.
bool is_exception(string_view line) {
  const string_view name = line.substr(0, line.find_first_of(": "));
  const auto is_of_name = [](char c) { return is_alphanumeric(c) || c == '_' || c == '.'; };
  const bool ends = name.size() == line.size() || line.substr(name.size()).starts_with(": ");
  return ends && (name.ends_with("Error") || name.ends_with("Exception")) &&
         std::ranges::all_of(name, is_of_name);
}

}  // namespace

bool is_error_elsewhere(std::string_view line) {
  line = behind_rank(trimmed_text(line)).substr(0, 1024);
  const bool told = line == "Killed" || is_exception(line) || has_any(line, kForms);
  return told && !has_any(line, kEchoes);
}

bool is_ordinary(std::string_view line) {
  constexpr string_view kOfErrors[] = {"rror",  "xception", "ERROR", "raceback", "ail",  "ill",
                                       "ignal", "SIG",      "abort", "Abort",    "WARN", "arning",
                                       "NCCL",  "  File ",  "[W",    "frame #"};
  return line.size() > 1 && line.front() != ' ' && !has_any(line.substr(0, 1024), kOfErrors);
}

}  // namespace nccl_env
