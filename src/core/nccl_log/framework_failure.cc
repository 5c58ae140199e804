// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/framework_failure.h"

#include <algorithm>
#include <string>

#include "nccl_env/core/nccl_log/log_text.h"
#include "nccl_env/core/nccl_log/warning_words.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_log/host_failure.h"

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
  failure.sequence = number_behind(line, "SeqNum=");
  failure.elements = number_behind(line, "NumelIn=");
  if (const auto type = text_behind(line, "OpType=")) {
    const string_view word = type->substr(0, std::min<std::size_t>(type->find_first_of(",)"), 32));
    if (std::ranges::all_of(word, [](char c) { return is_alphanumeric(c) || c == '_'; }))
      failure.operation = word;
  }
  if (failure.operation.empty() || !failure.sequence) return failure;
  failure.summary = rank_of(line) + failure.operation + ", SeqNum " + std::to_string(*failure.sequence);
  if (failure.elements)
    failure.summary +=
        ", " + std::to_string(*failure.elements) + (*failure.elements == 1 ? " element" : " elements");
  if (const auto after = number_behind(line, "ran for "))
    failure.summary += ", after " + std::to_string(*after / 1000) + " s";
  return failure;
}

// "[W515 07:06:42 …", "[rank1]:[W socket.cpp:663]": a warning of PyTorch's, which goes on.
bool is_torch_warning(string_view line) {
  const std::size_t at = line.find("[W");
  return at != line.npos && at + 2 < line.size() && (is_digit(line[at + 2]) || line[at + 2] == ' ');
}

// True where the system gave up on an address: ETIMEDOUT, ENETUNREACH, EHOSTUNREACH.
bool has_lost_host(string_view line) {
  return line.find("errno: 110 ") != line.npos || line.find("errno: 101 ") != line.npos ||
         line.find("errno: 113 ") != line.npos;
}

constexpr KnownLine kLeftOver = [] {
  KnownLine row;
  row.code = Code::RendezvousFailed;
  row.meaning =
      "More workers are counted in PyTorch's store than the job has: the store, mostly a file, is left over "
      "from an "
      "earlier run, or two jobs share it.";
  row.remedy =
      "Remove the file of init_method=file://..., or give each run one of its own (or another port).";
  return row;
}();

// "Waiting in store based barrier to initialize process group for rank: 0, key: store_based_barrier_key:1
// (world_size=6, worker_count=287, timeout=0:30:00)".
std::optional<NcclFailure> read_barrier(string_view line) {
  const auto barrier = text_behind(line, "store based barrier");
  const auto size = number_behind(barrier.value_or(""), "world_size=");
  const auto workers = number_behind(barrier.value_or(""), "worker_count=");
  if (!size || !workers || *workers <= *size) return std::nullopt;
  return failure_of_line(kLeftOver, line);
}

// PyTorch, where ranks meet before NCCL does: "[1] is setting up NCCL communicator and retrieving
// ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: …"; TCPStore's
// and torchrun's "Timed out after 601 seconds waiting for clients. 1/2 clients joined."
std::optional<NcclFailure> read_rendezvous(string_view line) {
  for (const string_view words :
       {string_view("The client socket has timed out"),
        string_view("The client socket has failed to connect"), string_view("network addresses of ("),
        string_view("RendezvousConnectionError"), string_view("RendezvousTimeoutError"),
        string_view("is setting up NCCL communicator"), string_view("waiting for clients"),
        string_view("Timed out initializing process group in store based barrier")}) {
    if (line.find(words) == line.npos) continue;
    // A client goes on with the next address, or tries again.
    if (words.ends_with("failed to connect")
            ? !has_lost_host(line)
            : words.starts_with("network addresses") && is_torch_warning(line))
      continue;
    NcclFailure failure = told(Code::RendezvousFailed, line, words);
    const auto error = text_behind(line, "got error: ");
    if (error) failure.summary = rank_of(line) + "no ncclUniqueId from rank 0: ";
    const std::size_t timed_out = std::min(line.find("Timed out"), line.find(words));
    if (!error) failure.summary = rank_of(line);
    failure.summary += (error ? *error : line.substr(timed_out)).substr(0, kLongestSummary);
    return failure;
  }
  return std::nullopt;
}

// PyTorch's store, of which rank 0 is the server: "recvValue failed on SocketImpl(fd=…): Connection reset by
// peer", "sendBytes failed on SocketImpl(…): Broken pipe", "The server socket has failed to listen on any
// local network address … errno: 98 - Address already in use".
std::optional<NcclFailure> read_store(string_view line) {
  for (const string_view words :
       {string_view("recvValue failed on SocketImpl"), string_view("recvVector failed on SocketImpl"),
        string_view("sendBytes failed on SocketImpl")}) {
    // Ranks that end after rank 0 warn of it.
    if (line.find(words) != line.npos && !is_torch_warning(line)) return told(Code::PeerClosed, line, words);
  }
  const auto has = [&](string_view words) { return line.find(words) != line.npos; };
  // 13: a port below 1024 and a process that is not root.
  if (has("The server socket has failed to") && (has("errno: 98") || has("EADDRINUSE") || has("errno: 13 ")))
    return told(Code::PortTaken, line, "The server socket");
  if (has("Address already in use") && (has("RuntimeError: ") || has("[Errno 98]") || has("EADDRINUSE")))
    return told(Code::PortTaken, line);
  return std::nullopt;
}

// An error of CUDA's that ends the process, or that the watchdog meets.
std::optional<NcclFailure> read_cuda(string_view line) {
  for (const string_view words :
       {string_view("CUDA out of memory"), string_view("HIP out of memory"), string_view("CUDA error: "),
        string_view("HIP error: "), string_view("cuda runtime error ("), string_view("Test CUDA failure "),
        string_view("Test HIP failure ")}) {
    if (line.find(words) == line.npos) continue;
    return told(code_of_warning(line.substr(line.find(words)), {}).value_or(Code::NotTheNetwork), line,
                words);
  }
  return std::nullopt;
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

// Gloo, which PyTorch has beside NCCL: "Gloo connectFullMesh failed with […] timed out connecting: SO_ERROR:
// Connection refused, remote=[127.0.0.1]:21990".
std::optional<NcclFailure> read_gloo(string_view line) {
  constexpr string_view kWords = "Gloo connectFullMesh failed with ";
  if (line.find(kWords) == line.npos) return std::nullopt;
  NcclFailure failure = told(Code::NoConnection, line, kWords);
  if (const auto remote = text_behind(line, "remote=["))
    failure.peer = remote->substr(0, std::min<std::size_t>(remote->find(']'), 64));
  if (failure.peer.starts_with("127.") || failure.peer == "::1") failure.code = Code::UnreachableInterface;
  return failure;
}

// The process's or its job's end, as the system tells it.
std::optional<NcclFailure> read_end_of_process(string_view line) {
  // A container's hook that goes on, in enroot's log.
  if (line.find("pyxis: ") != line.npos) return std::nullopt;
  // Not a text that names it, nor a handler that waits for it.
  constexpr string_view kFault = "Segmentation fault";
  const bool named = line.find("\"Segmentation fault\"") != line.npos ||
                     line.find("'Segmentation fault'") != line.npos ||
                     line.find("`Segmentation fault`") != line.npos;
  if (line.find(kFault) != line.npos && !named && line.find("faulthandler") == line.npos)
    return told(Code::Crashed, line, kFault);
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
  constexpr string_view kMismatch = "Detected mismatch between collectives on ranks";
  if (line.find(kMismatch) != line.npos) return told(Code::CallsDiffer, line, "Rank ");
  if (auto failure = read_barrier(line)) return failure;
  if (auto failure = read_rendezvous(line)) return failure;
  if (auto failure = read_store(line)) return failure;
  if (auto failure = read_cuda(line)) return failure;
  if (auto failure = read_test(line)) return failure;
  if (auto failure = read_gloo(line)) return failure;
  if (auto failure = read_end_of_process(line)) return failure;
  if (auto failure = read_host_failure(line)) return failure;
  return read_result(line);
}

std::optional<std::string> read_gloo_remote(std::string_view line) {
  const auto remote = text_behind(line, "remote=[");
  if (!remote || line.find("SO_ERROR") == line.npos) return std::nullopt;
  return std::string(remote->substr(0, std::min<std::size_t>(remote->find(']'), 64)));
}

std::optional<std::uint64_t> read_completed_collective(std::string_view line) {
  for (const string_view mark :
       {string_view("last completed work: "), string_view("last completed NCCL work: ")}) {
    if (const auto number = number_behind(line, mark); number && *number > 0) return number;
  }
  return std::nullopt;
}

}  // namespace nccl_env
