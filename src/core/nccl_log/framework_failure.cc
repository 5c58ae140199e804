// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/framework_failure.h"

#include <algorithm>
#include <string>

#include "nccl_env/core/nccl_log/log_text.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

using std::string_view;

constexpr std::size_t kLongestLine = 512, kLongestSummary = 160;

// "rank 2: " of "[rank2]: …" and "… [Rank 2] …"; "" where the line names none.
std::string rank_of(string_view line) {
  for (const string_view mark : {string_view("[rank"), string_view("[Rank "), string_view(" Rank ")}) {
    if (const auto rank = number_behind(line, mark)) return "rank " + std::to_string(*rank) + ": ";
  }
  return {};
}

// Keeps the line from `words` on as its summary, without the prefix of date, file and rank.
NcclFailure told(Code code, string_view line, string_view words = {}) {
  NcclFailure failure;
  failure.code = code;
  failure.text = line.substr(0, kLongestLine);
  const std::size_t at = words.empty() ? line.npos : line.find(words);
  if (at != line.npos && at > 0) {
    string_view from = line.substr(at, kLongestSummary);
    if (const std::size_t end = from.find(". "); end != from.npos) from = from.substr(0, end + 1);
    failure.summary = rank_of(line) + std::string(from);
  }
  return failure;
}

// "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, NumelOut=1,
// Timeout(ms)=600000) ran for 600010 milliseconds before timing out." (PyTorch's ProcessGroupNCCL.cpp; up to
// 2.1 without NumelIn).
std::optional<NcclFailure> read_watchdog(string_view line) {
  if (line.find("Watchdog caught collective operation timeout") == line.npos) return std::nullopt;
  NcclFailure failure = told(Code::TimedOut, line);
  const auto sequence = number_behind(line, "SeqNum=");
  const string_view type = text_behind(line, "OpType=").value_or("");
  const string_view word = type.substr(0, std::min<std::size_t>(type.find_first_of(",)"), 32));
  const bool whole = std::ranges::all_of(word, [](char c) { return is_alphanumeric(c) || c == '_'; });
  if (word.empty() || !whole || !sequence) return failure;
  failure.summary = rank_of(line) + std::string(word) + ", SeqNum " + std::to_string(*sequence);
  if (const auto after = number_behind(line, "ran for "))
    failure.summary += ", after " + std::to_string(*after / 1000) + " s";
  return failure;
}

// nccl-tests: "Test NCCL failure common.cu:959 'internal error - … / '": NCCL's result, and from 2.27 on its
// last warning behind the slash.
std::optional<NcclFailure> read_test(string_view line) {
  const auto rest = text_behind(line, "Test NCCL failure ");
  const std::size_t begin = rest ? rest->find('\'') : string_view::npos;
  if (begin == string_view::npos) return std::nullopt;
  const string_view words =
      rest->substr(begin + 1, rest->rfind('\'') - std::min(begin + 1, rest->rfind('\'')));
  if (const auto last = text_behind(words, " / "); last && !trimmed_text(*last).empty()) {
    if (auto failure = read_nccl_failure(trimmed_text(*last), true)) return failure;
  }
  for (int result = 1; result <= kLastResult; ++result) {
    NcclFailure failure = failure_of_result(result);
    failure.text = line.substr(0, kLongestLine);
    if (words.starts_with(failure.error_text.substr(0, failure.error_text.find(" or ")))) return failure;
  }
  return std::nullopt;
}

// PyTorch's "NCCL error in: FILE:LINE, remote process exited or there was a network error, NCCL
// version 2.18.6" and "NCCL Error 6: …": a result in NCCL's words, where its name does not stand beside it.
std::optional<NcclFailure> read_wrapped_result(string_view line) {
  constexpr string_view kInWords[kLastResult + 1] = {"",
                                                     "unhandled cuda error",
                                                     "unhandled system error",
                                                     "internal error",
                                                     "invalid argument",
                                                     "invalid usage",
                                                     "remote process exited"};
  auto rest = text_behind(line, "NCCL error in: ");
  if (!rest) rest = text_behind(line, "NCCL error: ");
  if (!rest) rest = text_behind(line, "Failed, NCCL error ");
  const auto number = number_behind(line, "NCCL Error ");
  const bool ranged = number && *number >= 1 && *number <= kLastResult;
  if (!rest && !ranged) return std::nullopt;
  int result = ranged ? static_cast<int>(*number) : 0;
  for (int one = 1; rest && one <= kLastResult; ++one) {
    if (rest->find(kInWords[one]) != rest->npos) result = one;
  }
  NcclFailure failure = result > 0 ? failure_of_result(result) : NcclFailure();
  failure.text = line.substr(0, kLongestLine);
  return failure;
}

std::optional<NcclFailure> read_result(string_view line) {
  struct Result {
    string_view words;
    int number;
  };
  constexpr Result kResults[] = {{"ncclUnhandledCudaError", 1}, {"unhandled cuda error", 1},
                                 {"ncclSystemError", 2},        {"unhandled system error", 2},
                                 {"ncclInternalError", 3},      {"ncclInvalidArgument", 4},
                                 {"ncclInvalidUsage", 5},       {"ncclRemoteError", 6}};
  for (const auto& [words, number] : kResults) {
    if (line.find(words) == line.npos) continue;
    if (const auto last = text_behind(line, "Last error: "); last && !last->empty()) {
      if (auto failure = read_nccl_failure(*last, true)) return failure;
    }
    NcclFailure failure = failure_of_result(number);
    failure.text = line.substr(0, kLongestLine);
    return failure;
  }
  return read_wrapped_result(line);
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
  for (const string_view words :
       {string_view("Heartbeat monitor timed out"), string_view("watchdog got stuck for"),
        string_view("milliseconds before timing out")}) {
    if (line.find(words) != line.npos) return told(Code::TimedOut, line, words);
  }
  if (auto failure = read_test(line)) return failure;
  return read_result(line);
}

}  // namespace nccl_env
