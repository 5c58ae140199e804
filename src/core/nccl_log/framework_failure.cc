// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/framework_failure.h"

#include <algorithm>
#include <string>

#include "nccl_env/core/nccl_log/log_text.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

using std::string_view;

// "rank 2: " of "[rank2]: …" and "… [Rank 2] …"; "" where the line names none.
std::string rank_of(string_view line) {
  for (const string_view mark : {"[rank", "[Rank ", " Rank "}) {
    if (const auto rank = number_behind(line, mark)) return "rank " + std::to_string(*rank) + ": ";
  }
  return {};
}

// Keeps the line from `words` on as its summary, without the prefix of date, file and rank.
NcclFailure told_from(string_view words, string_view line) {
  constexpr std::size_t kLongestSummary = 160;
  NcclFailure failure = failure_of(Code::TimedOut, line);
  if (const std::size_t at = line.find(words); at > 0) {
    const string_view from = line.substr(at, kLongestSummary);
    failure.summary =
        rank_of(line) + std::string(from.substr(0, std::min(from.find(". "), from.npos - 1) + 1));
  }
  return failure;
}

// "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, NumelOut=1,
// Timeout(ms)=600000) ran for 600010 milliseconds before timing out." (PyTorch's ProcessGroupNCCL.cpp; up to
// 2.1 without NumelIn).
std::optional<NcclFailure> read_watchdog(string_view line) {
  if (!has(line, "Watchdog caught collective operation timeout")) return std::nullopt;
  NcclFailure failure = failure_of(Code::TimedOut, line);
  const auto sequence = number_behind(line, "SeqNum=");
  const string_view word = word_behind(line, "OpType=", ",)");
  const bool whole = std::ranges::all_of(word, [](char c) { return is_alphanumeric(c) || c == '_'; });
  if (word.empty() || !whole || !sequence) return failure;
  failure.summary = rank_of(line) + std::string(word) + ", SeqNum " + std::to_string(*sequence);
  if (const auto after = number_behind(line, "ran for "))
    failure.summary += ", after " + std::to_string(*after / 1000) + " s";
  return failure;
}

// "NCCL error in: FILE:LINE, remote process exited or there was a network error, NCCL version 2.18.6", "NCCL
// Error 6: …", "ncclSystemError: … Last error: …"; of nccl-tests "Test NCCL failure common.cu:959 'internal
// error - … / '", with NCCL's last warning behind the slash from 2.27 on.
std::optional<NcclFailure> read_result(string_view line) {
  constexpr std::pair<string_view, string_view> kResults[kLastResult] = {
      {"ncclUnhandledCudaError", "unhandled cuda error"},
      {"ncclSystemError", "unhandled system error"},
      {"ncclInternalError", "internal error"},
      {"ncclInvalidArgument", "invalid argument"},
      {"ncclInvalidUsage", "invalid usage"},
      {"ncclRemoteError", "remote process exited"}};
  const bool test = has(line, "Test NCCL failure ");
  const bool told = has_any(line, {"NCCL error in: ", "NCCL error: ", "Failed, NCCL error "});
  int result = int_behind(line, "NCCL Error ").value_or(0);
  if (result < 0 || result > kLastResult) result = 0;
  for (int one = kLastResult; one > 0; --one) {
    const auto& [name, words] = kResults[one - 1];
    if (has(line, name) || ((told || test || words.starts_with("unhandled ")) && has(line, words)))
      result = one;
  }
  if (result == 0 && !told) return std::nullopt;
  string_view last = text_behind(line, test ? " / " : "Last error: ").value_or("");
  last = trimmed_text(test ? last.substr(0, last.rfind('\'')) : last);
  if (!last.empty()) {
    if (auto failure = read_nccl_failure(last, true)) return failure;
  }
  return failure_of_result(result, line);
}

}  // namespace

std::optional<NcclFailure> read_framework_failure(std::string_view line) {
  // JAX: "Last NCCL warning(error) log entry (may be unrelated) 'Bootstrap : no socket interface found'."
  if (const auto last = text_behind(line, "Last NCCL warning(error) log entry")) {
    const std::size_t begin = last->find('\''), end = last->rfind('\'');
    if (begin < end && end != last->npos)
      return read_nccl_failure(last->substr(begin + 1, end - begin - 1), true);
  }
  if (auto failure = read_watchdog(line)) return failure;
  const string_view words = first_in(
      line, {"Heartbeat monitor timed out", "watchdog got stuck for", "milliseconds before timing out"});
  return words.empty() ? read_result(line) : told_from(words, line);
}

}  // namespace nccl_env
