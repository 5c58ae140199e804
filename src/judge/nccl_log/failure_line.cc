// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/nccl_log/failure_line.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "nccl_env/core/text/strict.h"
#include "nccl_env/judge/nccl_log/log_text.h"
#include "nccl_log/log_line.h"

namespace nccl_env {
namespace {

using std::string_view;

// Warnings that end nothing, with the words that tell them; a name of NCCL's or RCCL's own in each.
// clang-format off
constexpr string_view kHarmless[] = {
    "NUMA auto balancing", "from kernel command line", "HSA_FORCE_FINE_GRAIN_PCIE", "MSCCL", "retrying",
    "Retrying", "port active", "LID change", "SM change", "P_Key table change", "client reregistration",
    "communication established", "ignoring", "Ignoring", "being ignored", "using default", "defaulting to",
    "deprecated", "using point-to-point network instead", "not using it", "Unsetting", "setting to",
    "setting it to", "set it to", "set both to", "cap it to", "limiting to", "Limiting value to",
    "falling back to simple order", "disabling CollNet", "falling back on simple ring",
    "falling back to graphStreamOrdering", "limiting it to", "maximum allowed, setting", " (minimum ",
    " (maximum ", "(must be a multiple of", "Cannot initialize CollNet, using", "CC On, Multi-GPU CC Off",
    "GDR Flush only supported", "due to old driver, disabling", "RAS thread terminating",
    "munmap of shared memory", "unlink shared memory", "shm unlink failed", "shm close failed",
    "not dumping topology", "Skipping nvlink detection", "Continue without profiler",
    "P2P is disabled between NVLINK connected GPUs", "Failed to find ncclNetPlugin",
    "Failed to find ncclCollNet", "No plugin found", "Plugin load", "OOO RQ is force enabled",
    "Resiliency is enabled", "NCCL_SOCKET_NTHREADS is greater", "remote FLID configured as zero",
    "peer access is already enabled", "RAS received unknown", "Cannot get incoming CPU",
    "failed to IPC register userbuff", "Maximum retry reached for accept", "Could not find real path of",
    "NCCL/NET (shim) mismatch recommended"};
// clang-format on

// NCCL's own lines have 1023 bytes up to 2.28; a hostile log has more.
constexpr std::size_t kLongestWarning = 4096;

// In the order of their weight, since a line has several.
struct Words {
  Code code;
  std::array<string_view, 10> any;  // the empty ones behind them are found in no text
};
// clang-format off
constexpr Words kWords[] = {
    {Code::NoInterface, {"o socket interface found", "o interface found", "No IP interface found",
      "No usable listening interface found", "verify NCCL_OOB_NET_IFNAME", "ddress family not supported",
      "Unsupported address family", "is neither AF_INET"}},
    {Code::GidTypeUnreadable, {" failed in ncclIbRoceGetVersionNum"}},
    {Code::NetworkNotFound, {"Error: network ", "Failed to initialize any NET plugin", "Network returned 0 device"}},
    // A segment that another rank made, and that is not here; then those that cannot be made.
    {Code::SegmentMissing, {"attaching to shared memory segment", "failed to open /dev/shm"}},
    {Code::SharedMemory, {"/dev/shm/", "shared memory segment", "posix_fallocate failed", "shm_open failed",
      "shared memory file", "failed to extend ", "failure in mmap of", "Unable to allocate shared memory"}},
    // Ranks that are unlike each other, and strangers.
    {Code::MissingRail, {"mixed local Net device counts", "has a different number of devices"}},
    {Code::MixedLinks, {"Attempted to connect incompatible devices: ", "different link_layer",
      "merge incompatible devices", "device is incompatible with the local"}},
    {Code::NcclVersionsDiffer, {"NCCL version mismatch", "Mismatched NCCL version"}},
    {Code::MixedNetworks, {"wrong type 4 != 3", "wrong type 3 != 4"}},
    {Code::StrangerConnected, {"wrong magic", "wrong type"}},
    // Connections that ended.
    {Code::PeerClosed, {"onnection closed by remote peer", "Connection reset by peer", "Broken pipe",
      "Socket recv failed", "Socket send failed"}},
    {Code::PeerClosed, {"[Service thread]", "[Proxy ", "Proxy Call to rank", "ncclProxyC", "is in abort state",
      "Call to recv", "Call to send", "socket progress error"}},
    // Threads that found an error told before.
    {Code::GaveUp, {"commReclaim: ", "ncclAsyncJobComplete: ", "ncclCommSetAsyncError: "}},
    // Adapters.
    {Code::DeviceLost, {"ibv_poll_cq", "ibv_get_async_event failed"}},
    {Code::DeviceNotOpened, {"Unable to open device ", "Unable to query device", "Unable to query port", "ibv_open_device failed"}},
    {Code::TransferFailed, {"ibv_post_send() failed", "ibv_post_recv() failed"}},
};
// clang-format on

// clang-format off
constexpr string_view kForms[] = {
    "ut of memory", "OutOfMemory", "OOMKilled", "Killed process", "Segmentation fault", "core dumped",
    "Caught signal ", "Cuda failure", "CUDA error: ", "illegal memory access", "device-side assert triggered",
    "NVRM: Xid", "undefined symbol: "};
// clang-format on

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

// "No route to host", of "No route to host(113), exceeded …" and of "113(No route to host) errno 115".
std::string trim_error(string_view text) {
  const std::size_t open = text.find_first_not_of("0123456789");
  if (open > 0 && text.substr(std::min(open, text.size())).starts_with('('))
    return std::string(up_to(text.substr(open + 1), ")"));
  return std::string(trimmed_text(up_to(text, ",([")));
}

// "mlx5_1" or "mlx5_1:1".
void read_device(string_view text, NcclFailure& into) {
  const auto is_of_name = [](char c) { return is_alphanumeric(c) || c == '_' || c == '-' || c == '.'; };
  const string_view word = up_to(text, " ,/"), name = word.substr(0, word.find(':'));
  if (name.empty() || !std::ranges::all_of(name, is_of_name)) return;
  into.device = name;
  if (name.size() < word.size()) into.port = leading_number(word.substr(name.size() + 1));
}

// The address behind the mark, as inet_ntop prints it; "" for "N/A" and any other text.
std::string gid_behind(string_view text, string_view mark) {
  const string_view word = word_behind(text, mark);
  const auto is_of_gid = [](char c) { return is_hex_digit(c) || c == ':' || c == '.'; };
  return word.size() >= 2 && std::ranges::all_of(word, is_of_gid) ? std::string(word) : std::string();
}

bool is_zero_gid(string_view gid) {
  return !gid.empty() && gid.find_first_not_of("0:") == gid.npos;
}

// Numbers of errors, with the texts that programs print.
struct Status {
  int number;
  Code code;
  string_view text;
};
const Status* find_status(std::span<const Status> all, const auto& is_it) {
  const auto found = std::ranges::find_if(all, is_it);
  return found == all.end() ? nullptr : &*found;
}
// Errors that ibv_modify_qp returns, with strerror's texts, because NCCL up to 2.20 prints no number.
constexpr Status kErrors[] = {
    {19, Code::NoNetdev, "No such device"},       {22, Code::ConnectFailed, "Invalid argument"},
    {61, Code::GidVanished, "No data available"}, {101, Code::NoRoute, "Network is unreachable"},
    {110, Code::NoRoute, "Connection timed out"}, {113, Code::NoRoute, "No route to host"}};
// Statuses of a completion, with libibverbs' texts (ibv_wc_status_str).
constexpr Status kStatuses[] = {{1, Code::TransferFailed, "local length error"},
                                {2, Code::TransferFailed, "local QP operation error"},
                                {4, Code::GpuMemory, "local protection error"},
                                {5, Code::TransferFailed, "work request flushed"},
                                {8, Code::GpuMemory, "local access error"},
                                {9, Code::RemoteAccess, "remote invalid request"},
                                {10, Code::RemoteAccess, "remote access error"},
                                {11, Code::TransferFailed, "remote operation error"},
                                {12, Code::NoAnswer, "transport retry counter exceeded"},
                                {13, Code::TransferFailed, "RNR retry counter exceeded"}};

Code code_of_error(const NcclFailure& failure, Code known) {
  const int error = failure.error.value_or(0);
  // Linux 6.1 gives 61 for a row that was always empty; for a row that has gone, NCCL still prints the GID,
  // from 2.24 on.
  if ((error == 22 || error == 19 || error == 61) && is_zero_gid(failure.local_gid)) return Code::EmptyGid;
  if (error == 61 && failure.local_gid.empty()) return Code::EmptyGid;
  return known == Code::NoRoute && is_link_local(failure.local_gid) ? Code::LinkLocalGid : known;
}

// "Call to ibv_modify_qp failed with 22 Invalid argument, on dev mlx5_1:1, curr state INIT, next state RTR,
// local GID index 3, local GID ::, remote GID ::ffff:10.0.0.2" (from 2.24); "… failed with error Invalid
// argument errno 22" (2.21 to 2.23); "… failed with error Invalid argument" (before).
std::optional<NcclFailure> read_connect(string_view text, bool warning) {
  const auto rest = text_behind(text, "ibv_modify_qp failed with ");
  if (!rest) return std::nullopt;
  NcclFailure failure = failure_of(Code::ConnectFailed, text);
  failure.retried = has(*rest, ", retrying ");
  if (!warning && !failure.retried) return std::nullopt;
  if (rest->starts_with("error ")) {
    failure.error = int_behind(*rest, " errno ");
    failure.error_text = up_to(rest->substr(6, rest->find(" errno ") - 6), "");
  } else {
    failure.error = leading_number(*rest);
    failure.error_text = word_behind(*rest, " ", ",");
  }
  const Status* known = find_status(kErrors, [&](const Status& each) {
    return failure.error ? each.number == *failure.error : each.text == failure.error_text;
  });
  if (known) failure.error = known->number;
  read_device(word_behind(*rest, " on dev "), failure);
  failure.gid_index = int_behind(*rest, "local GID index ");
  if (failure.gid_index && *failure.gid_index < 0) failure.gid_index.reset();
  failure.local_gid = gid_behind(text_behind(*rest, "local GID index ").value_or(*rest), "local GID ");
  failure.remote_gid = gid_behind(*rest, "remote GID ");
  failure.code = code_of_error(failure, known ? known->code : Code::ConnectFailed);
  return failure;
}

// "Got completion from peer 10.0.0.2<4711> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid
// ::ffff:10.0.0.1 remoteGids::ffff:10.0.0.2 hca mlx5_1"; "with error 12, opcode" up to 2.18, before 2.12
// without the peer; "with status=IBV_WC_RETRY_EXC_ERR(12)" and "vendor_err=129" from 2.28.
std::optional<NcclFailure> read_completion(string_view text) {
  const string_view rest = text_behind(text, "Got completion ").value_or("");
  const auto status = text_behind(rest, {"with status=", "with error "});
  if (!status) return std::nullopt;
  NcclFailure failure = failure_of(Code::TransferFailed, text);
  failure.peer = word_behind(rest, "from peer ");
  failure.error = leading_number(*status);
  if (!failure.error && status->starts_with("IBV_WC_")) {
    failure.error_text = up_to(*status, "( ,");
    failure.error = int_behind(up_to(*status, " ,"), "(");
  }
  if (const Status* known =
          find_status(kStatuses, [&](const Status& each) { return each.number == failure.error; })) {
    failure.code = known->code;
    if (failure.error_text.empty()) failure.error_text = known->text;
  }
  failure.vendor_error = leading_number(text_behind(rest, {"vendor err ", "vendor_err="}).value_or(""));
  failure.local_gid = gid_behind(rest, "localGid ");
  failure.remote_gid = gid_behind(rest, "remoteGids");
  read_device(word_behind(rest, " hca "), failure);
  if (failure.code == Code::NoAnswer && is_link_local(failure.local_gid)) failure.code = Code::LinkLocalGid;
  return failure;
}

// "NET/IB : mlx5_3:1 Got async event : GID table change" (up to 2.22; in 2.18 without the port), "… unknown
// event type (18)" (2.23 to 2.28, without a name for it), "… GID table changed" (from 2.28); "… Got async
// error event: port error", "… Got async fatal event: device fatal error", "… async fatal event on QP (0x1)
// …: …", "… Got non-fatal async event: port error(10)".
std::optional<Code> code_of_event(string_view text) {
  if (has_any(text, {"GID table change", "unknown event type (18)"})) return Code::GidTableChanged;
  if (!has(text, "async") || !has(text, " event")) return std::nullopt;
  if (has(text, "port error")) return Code::LinkDown;
  if (has_any(text, {"fatal event on QP", "access violation", "invalid request local work queue"}))
    return Code::RemoteAccess;
  const bool lost = has_any(text, {"device fatal", "local catastrophic", "CQ error", "event on CQ"}) ||
                    (has(text, "fatal event") && !has(text, "non-fatal"));
  return lost ? Code::DeviceLost : Code::UnknownWarning;
}

std::optional<NcclFailure> read_event(string_view text) {
  const auto code = code_of_event(text);
  if (!code) return std::nullopt;
  NcclFailure failure = failure_of(*code, text);
  if (const string_view port = word_behind(text, "NET/IB : ", " "); has(port, ":"))
    read_device(port, failure);
  return failure;
}

// "NET/IB: ncclIbResiliencyHandleDeviceFailure: Device 0 marked as failed. Initiating recovery? Yes (send …"
// (from 2.29). The device by its number among those of "Using".
std::optional<NcclFailure> read_resiliency(string_view text) {
  const auto behind = text_behind(text, "Device ");
  if (!behind || !has(text, " marked as failed. ")) return std::nullopt;
  NcclFailure failure = failure_of(Code::LinkDown, text);
  failure.device = up_to(*behind, " ");
  failure.error_text = "device " + failure.device + " failed" +
                       (has(text, "recovery? No") ? ", and its recovery was given up at last"
                                                  : ", and NCCL begins its recovery");
  return failure;
}

std::optional<NcclFailure> read_words(string_view text) {
  const string_view begin = text.substr(0, kLongestWarning);
  const auto row = std::ranges::find_if(kWords, [&](const Words& each) { return has_any(begin, each.any); });
  if (row == std::end(kWords)) return std::nullopt;
  NcclFailure failure = failure_of(row->code, text);
  failure.peer = word_behind(text, "closed by remote peer ");
  read_device(word_behind(text, "Unable to open device "), failure);
  // "[0]mlx5_0:1/IB and [1]mlx5_1:1/RoCE."
  read_device(word_behind(text, "Attempted to connect incompatible devices: [0]"), failure);
  // Up to 2.26; later versions do not name the network.
  failure.network = up_to(text_between(text, "Error: network ", " not found"), "");
  if (const auto problem = text_behind(text, "ncclIbRoceGetVersionNum: "))
    failure.error_text = up_to(*problem, "");
  return failure;
}

// "Call to ibv_create_qp failed with error Cannot allocate memory", "… ibv_reg_mr_iova2 failed with error Bad
// address": the first pins memory, the second most often registers a GPU's.
std::optional<NcclFailure> read_verbs(string_view text) {
  const auto call = text_behind(text, "Call to ibv_");
  if (!call || !has(text, " failed")) return std::nullopt;
  // NCCL up to 2.9 does not say why a completion queue or queue pair is refused; mostly it cannot be pinned.
  if (has(text, "Cannot allocate memory") || (call->starts_with("create_") && text.ends_with(" failed")))
    return failure_of(Code::MemoryLock, text);
  if (!begins_with_any(*call, {"reg_mr", "reg_dmabuf_mr"})) return std::nullopt;
  return failure_of(Code::GpuMemory, text);
}

// Addresses that Docker gives its bridges, the same ones on every host: 172.17.0.1 to 172.31.0.1.
bool is_docker_bridge(string_view peer) {
  constexpr string_view kBegin = "172.";
  if (!peer.starts_with(kBegin)) return false;
  const int second = leading_number(peer.substr(kBegin.size())).value_or(0);
  const string_view rest = peer.substr(std::min(peer.find('.', kBegin.size()), peer.size()));
  return second >= 17 && second <= 31 && (rest == ".0.1" || rest.starts_with(".0.1<"));
}

// "Call to recv from 10.0.0.2<4711> failed : Connection timed out": of a connection that had been
// established.
std::optional<NcclFailure> read_broken(string_view text) {
  const auto call = text_behind(text, "Call to ");
  if (!call || !begins_with_any(*call, {"recv", "send", "read", "write"})) return std::nullopt;
  const string_view error =
      first_in(*call, {"Connection timed out", "No route to host", "Network is unreachable", "Host is down"});
  if (error.empty()) return std::nullopt;
  NcclFailure failure = failure_of(Code::ConnectionBroken, text);
  failure.peer = word_behind(*call, {" from ", " to "});
  failure.error_text = error;
  return failure;
}

// "socketStartConnect: Connect to 10.21.0.6<38007> failed : Software caused connection abort"; "Net : Connect
// to …", "Call to connect to … failed", "socketPollConnect: connect to … returned No route to host(113),
// exceeded error retry count after 35 attempts".
std::optional<NcclFailure> read_no_connection(string_view text) {
  auto peer = text_behind(text, {"onnect to address ", "onnect to "});
  if (!peer && !has_any(text, {"Call to connect ", "PollConnect", "StartConnect", ": connect returned "}))
    return std::nullopt;
  NcclFailure failure = failure_of(Code::NoConnection, text);
  if (!peer) return failure;
  failure.peer = up_to(*peer, " ,");
  // An address of this machine or link tells that the peer took an interface that reaches no other host.
  if (is_of_this_host(failure.peer) || is_docker_bridge(failure.peer))
    failure.code = Code::UnreachableInterface;
  failure.error_text =
      trim_error(text_behind(*peer, {" failed : ", " returned ", " failed with error "}).value_or(""));
  return failure;
}

// "socketPollConnect: connect to 169.254.170.23<4711> returned Connection refused, retrying (13/34) after
// sleep …": an attempt is no failure, but many at an address inside a host never come to another.
std::optional<NcclFailure> read_attempt(string_view text) {
  constexpr int kMany = 10;
  if (int_behind(text, "retrying (").value_or(0) < kMany) return std::nullopt;
  auto failure = read_no_connection(text);
  return failure && failure->code == Code::UnreachableInterface ? failure : std::nullopt;
}

// "proxy.cc:694 -> 6 [Progress Thread]", "group.cc:64 -> 3 [Async thread]", "init.cc:1303 -> 2": the last
// lines of an error that no caller handled. Other files' lines stand in good logs, too.
std::optional<NcclFailure> read_end(string_view text) {
  const int result = int_behind(text, "-> ").value_or(0);
  if (result < 1 || result > kLastResult) return std::nullopt;
  string_view file = text.substr(0, text.find(':'));
  file.remove_prefix(std::min(file.find_last_of('/') + 1, file.size()));
  if (!begins_with_any(file, {"init.c", "group.c", "bootstrap.c", "enqueue.c"}) &&
      !text.ends_with("Progress Thread]") && !text.ends_with("[Async thread]"))
    return std::nullopt;
  return failure_of_result(result, text);
}

std::optional<NcclFailure> read_warning(string_view text) {
  if (auto failure = read_completion(text)) return failure;
  if (has_any(text, kHarmless)) return std::nullopt;
  if (auto failure = read_event(text)) return failure;
  if (auto failure = read_resiliency(text)) return failure;
  if (auto failure = read_verbs(text)) return failure;
  if (auto failure = read_broken(text)) return failure;
  // Its second error, "errno 11(Resource temporarily unavailable)", is of a socket that does not wait.
  if (has(text, "PollConnect: Connect to")) return read_no_connection(text);
  if (auto failure = read_words(text)) return failure;
  if (auto failure = read_no_connection(text)) return failure;
  return failure_of(is_error_elsewhere(text) ? Code::EndedElsewhere : Code::UnknownWarning, text);
}

// "rank 2: " of "[rank2]: …" and "… [Rank 2] …"; "" where the line names none.
std::string rank_of(string_view line) {
  for (const string_view mark : {"[rank", "[Rank ", " Rank "}) {
    if (const auto rank = int_behind(line, mark)) return "rank " + std::to_string(*rank) + ": ";
  }
  return {};
}

// "3" of "[rank2]:[E… x.cpp:629] [PG ID 1 PG GUID 3(tp) Rank 0] …". Before 2.5 PyTorch tells a process's own
// number alone, "[PG 1 Rank 0]", and before 2.3 none; calls between two ranks have numbers of their own.
std::string group_of(string_view line, string_view call) {
  const string_view name = word_behind(line, "PG GUID ", " ("), number = word_behind(line, "[PG ");
  const auto global = int_behind(line, "[rank"), own = int_behind(line, "[Rank ");
  const bool part = number.empty() ? global && own && global != own : name.empty() && number != "0";
  if (part || begins_with_any(call, {"SEND", "RECV", "COALESCED", "UNKNOWN"})) return "?";
  return name == "0" ? "" : std::string(name);
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
  const string_view sequence = word_behind(line, "SeqNum=");
  const string_view word = word_behind(line, "OpType=", ",)");
  const bool whole = std::ranges::all_of(word, [](char c) { return is_alphanumeric(c) || c == '_'; });
  if (word.empty() || !whole || !is_digits(sequence)) return failure;
  if (const auto rank = int_behind(rank_of(line), "rank "))
    failure.waits_for = {{group_of(line, word), *rank},
                         {leading_number(sequence).value_or(0), std::string(word)}};
  failure.summary = rank_of(line) + std::string(word) + ", SeqNum " + std::string(sequence);
  if (const auto after = int_behind(line, "ran for "))
    failure.summary += ", after " + std::to_string(*after / 1000) + " s";
  return failure;
}

// NCCL's results from 1 on.
constexpr std::pair<string_view, string_view> kResults[kLastResult] = {
    {"ncclUnhandledCudaError", "unhandled cuda error"},
    {"ncclSystemError", "unhandled system error"},
    {"ncclInternalError", "internal error"},
    {"ncclInvalidArgument", "invalid argument"},
    {"ncclInvalidUsage", "invalid usage"},
    {"ncclRemoteError", "remote process exited"}};

// "NCCL error in: FILE:LINE, remote process exited or there was a network error, NCCL version 2.18.6", "NCCL
// Error 6: …", "ncclSystemError: … Last error: …"; of nccl-tests "Test NCCL failure common.cu:959 'internal
// error - … / '", with NCCL's last warning behind the slash from 2.27 on.
std::optional<NcclFailure> read_result(string_view line) {
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

std::optional<NcclFailure> read_nccl_failure(string_view text, bool warning) {
  if (auto failure = read_connect(text, warning)) return failure;
  if (has(text, "Failed to open libibverbs.so")) return failure_of(Code::NoVerbsLibrary, text);
  if (auto failure = read_attempt(text)) return failure;
  return warning ? read_warning(text) : read_end(text);
}

NcclFailure failure_of_result(int result, string_view text) {
  NcclFailure failure = failure_of(Code::GaveUp, text);
  if (result < 1) return failure;
  failure.error = result;
  failure.error_text = kResults[result - 1].second;
  if (result == kLastResult) failure.error_text += " or network error";
  return failure;
}

std::optional<NcclFailure> read_unreachable(std::string_view interface, std::string_view address,
                                            std::string_view text) {
  const bool inside = begins_with_any(interface, {"veth", "tun", "tap", "br-", "virbr", "docker", "cni",
                                                  "cali", "flannel", "ip6tnl", "lxc", "podman", "vxlan"});
  if (interface != "lo" && !begins_with_any(address, {"127.", "169.254."}) &&
      !(inside && is_link_local(address)) && !begins_with_any(interface, {"docker", "virbr"}))
    return std::nullopt;
  NcclFailure failure = failure_of(Code::UnreachableInterface, text);
  failure.device = up_to(interface, "");
  return failure;
}

std::optional<NcclFailure> read_framework_failure(string_view line) {
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

bool is_error_elsewhere(string_view line) {
  line = behind_rank(trimmed_text(line)).substr(0, 1024);
  const bool told = line == "Killed" || is_exception(line) || has_any(line, kForms);
  return has(line, " seconds waiting for clients") || (told && !has_any(line, kEchoes));
}

bool is_ordinary(string_view line) {
  constexpr string_view kOfErrors[] = {"rror",  "xception", "ERROR", "raceback", "ail",  "ill",
                                       "ignal", "SIG",      "abort", "Abort",    "WARN", "arning",
                                       "NCCL",  "  File ",  "[W",    "frame #"};
  return line.size() > 1 && line.front() != ' ' && !has_any(line.substr(0, 1024), kOfErrors);
}

}  // namespace nccl_env
