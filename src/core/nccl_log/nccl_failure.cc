// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/nccl_failure.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/nccl_log/log_text.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_log/ended_elsewhere.h"
#include "nccl_log/network_lines.h"

namespace nccl_env {
namespace {

using OrderedJson = nlohmann::ordered_json;

using std::string_view;

// NCCL's own words on a queue pair are 250 bytes; a hostile log has more.
constexpr std::size_t kLongestText = 512;

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
constexpr int kFlushed = 5;
constexpr Status kStatuses[] = {{1, Code::TransferFailed, "local length error"},
                                {2, Code::TransferFailed, "local QP operation error"},
                                {4, Code::GpuMemory, "local protection error"},
                                {kFlushed, Code::TransferFailed, "work request flushed"},
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

std::optional<NcclFailure> read_words(string_view text) {
  const auto code = code_of_warning(text);
  if (!code) return std::nullopt;
  NcclFailure failure = failure_of(*code, text);
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
  constexpr std::uint64_t kMany = 10;
  const auto times = number_behind(text, "retrying (");
  if (times.value_or(0) < kMany) return std::nullopt;
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
  if (is_harmless_warning(text)) return std::nullopt;
  if (auto failure = read_event(text)) return failure;
  if (auto failure = read_verbs(text)) return failure;
  if (auto failure = read_broken(text)) return failure;
  // Its second error, "errno 11(Resource temporarily unavailable)", is of a socket that does not wait.
  if (has(text, "PollConnect: Connect to")) return read_no_connection(text);
  if (auto failure = read_words(text)) return failure;
  if (auto failure = read_no_connection(text)) return failure;
  return failure_of(is_error_elsewhere(text) ? Code::EndedElsewhere : Code::UnknownWarning, text);
}

// What is known of each code of a failure; of one that is not here: it is the cause, and no value is to
// blame.
struct FailureKind {
  Code code;
  Nearness nearness = Nearness::Cause;
  unsigned traits = 0;
  std::string_view blamed = {};
};

using enum NcclFailure::Trait;
constexpr FailureKind kKinds[] = {
    {Code::EmptyGid, Nearness::Cause, 0, variable::kIbGidIndex},
    {Code::GidVanished, Nearness::Cause, 0, variable::kIbGidIndex},
    {Code::NoNetdev, Nearness::Cause, 0, variable::kIbGidIndex},
    {Code::LinkLocalGid, Nearness::Cause, 0, variable::kIbGidIndex},
    {Code::GidTableChanged, Nearness::Cause, kOfPort, variable::kIbGidIndex},
    {Code::MixedLinks, Nearness::Cause, 0, variable::kIbHca},
    {Code::NoInterface, Nearness::Cause, 0, variable::kSocketIfname},
    {Code::UnreachableInterface, Nearness::Cause, 0, variable::kSocketIfname},
    {Code::NetworkNotFound, Nearness::Cause, 0, variable::kNet},
    {Code::LinkDown, Nearness::Cause, kOfPort | kInWords},
    {Code::DeviceLost, Nearness::Cause, kOfPort | kInWords},
    {Code::StrangerConnected, Nearness::Cause, kInWords},
    {Code::EndedElsewhere, Nearness::Symptom},
    {Code::NoAnswer, Nearness::Symptom, kOfTransfer | kFollowsEnd},
    {Code::TransferFailed, Nearness::Symptom, kOfTransfer | kFollowsEnd},
    {Code::RemoteAccess, Nearness::Symptom, kFollowsEnd | kInWords},
    {Code::NoConnection, Nearness::Symptom, kFollowsEnd, variable::kSocketIfname},
    {Code::ConnectionBroken, Nearness::Symptom, kOfPeer | kFollowsEnd},
    {Code::SegmentMissing, Nearness::Symptom, kFollowsEnd},
    {Code::DeviceNotAvailable, Nearness::Symptom},
    {Code::NoTransport, Nearness::Symptom},
    {Code::GidTypeUnreadable, Nearness::Symptom},
    {Code::DeviceNotOpened, Nearness::Symptom, 0, variable::kIbHca},
    {Code::UnknownWarning, Nearness::Unknown},
    {Code::NoVerbsLibrary, Nearness::Slows},
    {Code::PeerClosed, Nearness::Consequence, kOfPeer | kFollowsEnd | kInWords},
    {Code::TimedOut, Nearness::Consequence, kFollowsEnd},
    {Code::GaveUp, Nearness::End, kFollowsEnd},
};

const FailureKind& kind_of(Code code) {
  static constexpr FailureKind kOther{};
  const auto found = std::ranges::find(kKinds, code, &FailureKind::code);
  return found == std::end(kKinds) ? kOther : *found;
}

}  // namespace

std::string_view blamed_variable(Code code) {
  return kind_of(code).blamed;
}

Nearness NcclFailure::nearness() const {
  const bool flushed = code == Code::TransferFailed && error == kFlushed;  // after another one's error
  return flushed ? Nearness::Consequence : kind_of(code).nearness;
}

bool NcclFailure::is(Trait trait) const {
  return (kind_of(code).traits & trait) != 0;
}

NcclFailure failure_of(Code code, string_view text) {
  NcclFailure failure;
  failure.code = code;
  failure.text = text.substr(0, kLongestText);
  return failure;
}

std::optional<NcclFailure> read_nccl_failure(string_view text, bool warning) {
  if (auto failure = read_connect(text, warning)) return failure;
  if (has(text, "Failed to open libibverbs.so")) return failure_of(Code::NoVerbsLibrary, text);
  if (auto failure = read_attempt(text)) return failure;
  return warning ? read_warning(text) : read_end(text);
}

NcclFailure failure_of_result(int result, string_view text) {
  constexpr string_view kTexts[kLastResult + 1] = {"",
                                                   "unhandled CUDA error",
                                                   "unhandled system error",
                                                   "internal error",
                                                   "invalid argument",
                                                   "invalid usage",
                                                   "remote process exited or network error"};
  NcclFailure failure = failure_of(Code::GaveUp, text);
  if (result > 0) failure.error = result;
  failure.error_text = kTexts[result];
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

FailureWords words_of(const NcclFailure& failure) {
  if (const NetworkLine* row = refine_line(failure.code, failure.text)) return {row->meaning, row->remedy};
  const Named& code = words_of(failure.code);
  return {code.meaning, code.remedy};
}

std::string describe(const NcclFailure& failure) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (!failure.device.empty())
    add(failure.device + (failure.port ? ":" + std::to_string(*failure.port) : std::string()));
  if (failure.gid_index) add("GID index " + std::to_string(*failure.gid_index));
  if (!failure.local_gid.empty()) add("local GID " + failure.local_gid);
  if (!failure.remote_gid.empty()) add("remote GID " + failure.remote_gid);
  if (!failure.peer.empty()) add("peer " + failure.peer);
  if (!failure.network.empty()) add("network " + failure.network);
  if (!failure.error && failure.error_text.empty()) {
    if (text.empty()) return failure.summary.empty() ? failure.text : failure.summary;
    return failure.is(kInWords) ? failure.text : text;
  }
  const bool completion =
      failure.vendor_error || failure.code == Code::NoAnswer || failure.code == Code::TransferFailed;
  std::string error = completion ? "status " : failure.code == Code::GaveUp ? "result " : "";
  if (failure.error) error += std::to_string(*failure.error) + (failure.error_text.empty() ? "" : " ");
  error += failure.error_text;
  if (failure.vendor_error)
    error +=
        (failure.error_text.empty() ? "" : ", ") + ("vendor error " + std::to_string(*failure.vendor_error));
  return text + (text.empty() ? "" : ": ") + error;
}

nlohmann::ordered_json to_json(const NcclFailure& failure) {
  OrderedJson json = OrderedJson::object();
  json["code"] = to_string(failure.code);
  json["line"] = failure.line;
  json["times"] = failure.times;
  json["processes"] = failure.processes.size();
  json["retried"] = failure.retried;
  json["device"] = text_or_null(failure.device);
  json["port"] = value_or_null(failure.port);
  json["gidIndex"] = value_or_null(failure.gid_index);
  json["localGid"] = text_or_null(failure.local_gid);
  json["remoteGid"] = text_or_null(failure.remote_gid);
  json["peer"] = text_or_null(failure.peer);
  json["network"] = text_or_null(failure.network);
  json["error"] = value_or_null(failure.error);
  json["errorText"] = text_or_null(failure.error_text);
  json["vendorError"] = value_or_null(failure.vendor_error);
  json["firstTime"] = text_or_null(failure.first_time);
  json["lastTime"] = text_or_null(failure.last_time);
  json["text"] = failure.text;
  return json;
}

}  // namespace nccl_env
