// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/nccl_failure.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

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
// IPv6 in text has 45, a device at most 64.
constexpr std::size_t kLongestWord = 64;

string_view up_to(string_view text, string_view ends) {
  return text.substr(0, std::min(text.find_first_of(ends), kLongestWord));
}

std::optional<int> leading_number(string_view text) {
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + std::min<std::size_t>(text.size(), 9), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

// "No route to host", of "No route to host(113), exceeded …" and of "113(No route to host) errno 115".
std::string trim_error(string_view text) {
  const std::size_t open = text.find_first_not_of("0123456789");
  if (open > 0 && open < text.size() && text[open] == '(')
    return std::string(up_to(text.substr(open + 1), ")"));
  std::string words(up_to(text, ",(["));
  while (words.ends_with(' ')) words.pop_back();
  return words;
}

bool is_device_character(char c) {
  return is_alphanumeric(c) || c == '_' || c == '-' || c == '.';
}

// "mlx5_1" or "mlx5_1:1".
void read_device(string_view text, NcclFailure& into) {
  const string_view word = up_to(text, " ,/");
  const std::size_t colon = std::min(word.find(':'), word.size());
  const string_view name = word.substr(0, colon);
  if (name.empty() || !std::ranges::all_of(name, is_device_character)) return;
  into.device = name;
  if (colon < word.size()) into.port = leading_number(word.substr(colon + 1));
}

// An address as inet_ntop prints it; "" for "N/A" and any other text.
std::string gid_in(string_view text) {
  const string_view word = up_to(text, " ,");
  const bool address = word.size() >= 2 && std::ranges::all_of(word, [](char c) {
                         return is_hex_digit(c) || c == ':' || c == '.';
                       });
  return address ? std::string(word) : std::string();
}

bool is_zero_gid(const std::string& gid) {
  return !gid.empty() && gid.find_first_not_of("0:") == gid.npos;
}

bool is_link_local(const std::string& gid) {
  return gid.starts_with("fe80:") || gid.starts_with("FE80:");
}

NcclFailure of_code(Code code) {
  NcclFailure failure;
  failure.code = code;
  return failure;
}

struct Errno {
  int number;
  string_view text;
};
// Errors that ibv_modify_qp returns, with strerror's texts, because NCCL up to 2.20 prints no number.
constexpr Errno kErrors[] = {{19, "No such device"},        {22, "Invalid argument"},
                             {61, "No data available"},     {101, "Network is unreachable"},
                             {110, "Connection timed out"}, {113, "No route to host"}};

Code code_of_connect_error(int error) {
  if (error == 19) return Code::NoNetdev;
  if (error == 61) return Code::GidVanished;
  return error == 110 || error == 101 || error == 113 ? Code::NoRoute : Code::ConnectFailed;
}

Code code_of_error(const NcclFailure& failure) {
  const int error = failure.error.value_or(0);
  // Linux 6.1 gives 61 for a row that was always empty; for a row that has gone, NCCL still prints the GID,
  // from 2.24 on.
  if ((error == 22 || error == 19 || error == 61) && is_zero_gid(failure.local_gid)) return Code::EmptyGid;
  if (error == 61 && failure.local_gid.empty()) return Code::EmptyGid;
  const Code code = code_of_connect_error(error);
  return code == Code::NoRoute && is_link_local(failure.local_gid) ? Code::LinkLocalGid : code;
}

// "Call to ibv_modify_qp failed with 22 Invalid argument, on dev mlx5_1:1, curr state INIT, next state RTR,
// local GID index 3, local GID ::, remote GID ::ffff:10.0.0.2" (from 2.24); "… failed with error Invalid
// argument errno 22" (2.21 to 2.23); "… failed with error Invalid argument" (before).
std::optional<NcclFailure> read_connect(string_view text, bool warning) {
  auto rest = text_behind(text, "ibv_modify_qp failed with ");
  if (!rest) return std::nullopt;
  NcclFailure failure;
  failure.retried = rest->find(", retrying ") != rest->npos;
  if (!warning && !failure.retried) return std::nullopt;
  constexpr string_view kError = "error ";
  if (rest->starts_with(kError)) {
    rest->remove_prefix(kError.size());
    const std::size_t number = rest->find(" errno ");
    failure.error_text = rest->substr(0, std::min(number, kLongestWord));
    if (number != rest->npos) failure.error = leading_number(rest->substr(number + 7));
  } else {
    failure.error = leading_number(*rest);
    const std::size_t blank = std::min(rest->find(' '), rest->size());
    failure.error_text = up_to(rest->substr(std::min(blank + 1, rest->size())), ",");
  }
  for (const Errno& each : kErrors) {
    if (!failure.error && failure.error_text == each.text) failure.error = each.number;
  }
  if (const auto device = text_behind(*rest, " on dev ")) read_device(*device, failure);
  if (const auto index = text_behind(*rest, "local GID index ")) failure.gid_index = leading_number(*index);
  if (failure.gid_index && *failure.gid_index < 0) failure.gid_index.reset();
  if (const auto gid = text_behind(*rest, "local GID ")) {
    // The first "local GID " may belong to "local GID index".
    const auto own = text_behind(*gid, ", local GID ");
    failure.local_gid = gid_in(own ? *own : *gid);
  }
  if (const auto gid = text_behind(*rest, "remote GID ")) failure.remote_gid = gid_in(*gid);
  failure.code = code_of_error(failure);
  return failure;
}

// Statuses of a completion, with libibverbs' texts (ibv_wc_status_str).
struct Status {
  int number;
  Code code;
  string_view text;
};
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

// "Got completion from peer 10.0.0.2<4711> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid
// ::ffff:10.0.0.1 remoteGids::ffff:10.0.0.2 hca mlx5_1"; "with error 12, opcode" up to 2.18, before 2.12
// without the peer; "with status=IBV_WC_RETRY_EXC_ERR(12)" and "vendor_err=129" from 2.28.
std::optional<NcclFailure> read_completion(string_view text) {
  const auto rest = text_behind(text, "Got completion ");
  auto status = text_behind(rest.value_or(""), "with status=");
  if (!status) status = text_behind(rest.value_or(""), "with error ");
  if (!status) return std::nullopt;
  NcclFailure failure;
  failure.code = Code::TransferFailed;
  if (const auto peer = text_behind(*rest, "from peer ")) failure.peer = up_to(*peer, " ,");
  failure.error = leading_number(*status);
  if (const string_view name = up_to(*status, " ,"); !failure.error && name.starts_with("IBV_WC_")) {
    const std::size_t open = std::min(name.find('('), name.size());
    failure.error_text = name.substr(0, open);
    failure.error = leading_number(name.substr(std::min(open + 1, name.size())));
  }
  for (const Status& each : kStatuses) {
    if (failure.error != each.number) continue;
    failure.code = each.code;
    if (failure.error_text.empty()) failure.error_text = each.text;
  }
  for (const string_view mark : {string_view("vendor err "), string_view("vendor_err=")}) {
    if (const auto vendor = text_behind(*rest, mark)) failure.vendor_error = leading_number(*vendor);
  }
  if (const auto gid = text_behind(*rest, "localGid ")) failure.local_gid = gid_in(*gid);
  if (const auto gid = text_behind(*rest, "remoteGids")) failure.remote_gid = gid_in(*gid);
  if (const auto device = text_behind(*rest, " hca ")) read_device(*device, failure);
  if (failure.code == Code::NoAnswer && is_link_local(failure.local_gid)) failure.code = Code::LinkLocalGid;
  return failure;
}

// "NET/IB : mlx5_3:1 Got async event : GID table change" (up to 2.22; in 2.18 without the port), "… unknown
// event type (18)" (2.23 to 2.28, without a name for it), "… GID table changed" (from 2.28); "… Got async
// error event: port error", "… Got async fatal event: device fatal error", "… async fatal event on QP (0x1)
// …: …", "… Got non-fatal async event: port error(10)".
std::optional<NcclFailure> read_event(string_view text) {
  const auto has = [&](string_view words) { return text.find(words) != text.npos; };
  Code code = Code::UnknownWarning;
  if (has("GID table change") || has("unknown event type (18)")) {
    code = Code::GidTableChanged;
  } else if (!has("async") || !has(" event")) {
    return std::nullopt;
  } else if (has("port error")) {
    code = Code::LinkDown;
  } else if (has("fatal event on QP") || has("access violation") || has("invalid request local work queue")) {
    code = Code::RemoteAccess;
  } else if (has("device fatal") || has("local catastrophic") || has("CQ error") || has("event on CQ") ||
             (has("fatal event") && !has("non-fatal"))) {
    code = Code::DeviceLost;
  }
  NcclFailure failure = of_code(code);
  if (const auto device = text_behind(text, "NET/IB : ")) {
    const string_view word = up_to(*device, " ");
    if (word.find(':') != word.npos) read_device(word, failure);
  }
  return failure;
}

std::optional<NcclFailure> read_device_failure(string_view text) {
  if (const auto device = text_behind(text, "Unable to open device ")) {
    NcclFailure failure = of_code(Code::DeviceNotOpened);
    read_device(*device, failure);
    return failure;
  }
  if (const auto problem = text_behind(text, " failed in ncclIbRoceGetVersionNum")) {
    NcclFailure failure = of_code(Code::GidTypeUnreadable);
    if (problem->starts_with(": ")) failure.error_text = problem->substr(2, kLongestWord);
    return failure;
  }
  // "Attempted to connect incompatible devices: [0]mlx5_0:1/IB and [1]mlx5_1:1/RoCE."
  if (const auto devices = text_behind(text, "Attempted to connect incompatible devices: ")) {
    NcclFailure failure = of_code(Code::MixedLinks);
    if (const auto name = text_behind(up_to(*devices, " "), "]")) read_device(*name, failure);
    return failure;
  }
  return std::nullopt;
}

std::optional<NcclFailure> read_words(string_view text) {
  if (const auto code = code_of_warning(text)) {
    NcclFailure failure = of_code(*code);
    if (const auto peer = text_behind(text, "closed by remote peer ")) failure.peer = up_to(*peer, " ,");
    return failure;
  }
  // Up to 2.26; later versions do not name the network.
  if (const auto name = text_behind(text, "Error: network ")) {
    const std::size_t end = name->find(" not found");
    if (end == name->npos) return std::nullopt;
    NcclFailure failure = of_code(Code::NetworkNotFound);
    failure.network = name->substr(0, std::min(end, kLongestWord));
    return failure;
  }
  return std::nullopt;
}

// "Call to ibv_create_qp failed with error Cannot allocate memory", "… ibv_reg_mr_iova2 failed with error Bad
// address": the first pins memory, the second most often registers a GPU's.
std::optional<NcclFailure> read_verbs(string_view text) {
  const auto call = text_behind(text, "Call to ibv_");
  if (!call || text.find(" failed") == text.npos) return std::nullopt;
  const bool memory = call->starts_with("reg_mr") || call->starts_with("reg_dmabuf_mr");
  if (text.find("Cannot allocate memory") != text.npos) return of_code(Code::MemoryLock);
  // NCCL up to 2.9 does not say why a completion queue or queue pair is refused; mostly it cannot be pinned.
  if (call->starts_with("create_") && text.ends_with(" failed")) return of_code(Code::MemoryLock);
  return memory ? std::optional(of_code(Code::GpuMemory)) : std::nullopt;
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
  auto call = text_behind(text, "Call to ");
  if (!call || !begins_with_any(*call, {"recv", "send", "read", "write"})) return std::nullopt;
  for (const string_view error : {string_view("Connection timed out"), string_view("No route to host"),
                                  string_view("Network is unreachable"), string_view("Host is down")}) {
    if (call->find(error) == call->npos) continue;
    NcclFailure failure = of_code(Code::ConnectionBroken);
    for (const string_view mark : {string_view(" from "), string_view(" to ")}) {
      if (const auto peer = text_behind(*call, mark); peer && failure.peer.empty())
        failure.peer = up_to(*peer, " ,");
    }
    failure.error_text = error;
    return failure;
  }
  return std::nullopt;
}

// "socketStartConnect: Connect to 10.21.0.6<38007> failed : Software caused connection abort"; "Net : Connect
// to …", "Call to connect to … failed", "socketPollConnect: connect to … returned No route to host(113),
// exceeded error retry count after 35 attempts".
std::optional<NcclFailure> read_no_connection(string_view text) {
  auto peer = text_behind(text, "onnect to ");
  const auto has = [&](string_view words) { return text.find(words) != text.npos; };
  if (!peer && !has("Call to connect ") && !has("PollConnect") && !has("StartConnect") &&
      !has(": connect returned "))
    return std::nullopt;
  NcclFailure failure = of_code(Code::NoConnection);
  if (!peer) return failure;
  if (peer->starts_with("address ")) peer->remove_prefix(8);
  failure.peer = up_to(*peer, " ,");
  // An address of this machine or link tells that the peer took an interface that reaches no other host.
  if (begins_with_any(failure.peer, {"127.", "fe80:", "FE80:", "[fe80:", "169.254."}) ||
      is_docker_bridge(failure.peer))
    failure.code = Code::UnreachableInterface;
  for (const string_view mark :
       {string_view(" failed : "), string_view(" returned "), string_view(" failed with error ")}) {
    if (const auto error = text_behind(*peer, mark); error && failure.error_text.empty())
      failure.error_text = trim_error(*error);
  }
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
  const auto result = text_behind(text, "-> ");
  const auto number = result ? leading_number(*result) : std::nullopt;
  if (!number || *number < 1 || *number > kLastResult) return std::nullopt;
  string_view file = text.substr(0, text.find(':'));
  file.remove_prefix(std::min(file.find_last_of('/') + 1, file.size()));
  if (!begins_with_any(file, {"init.c", "group.c", "bootstrap.c", "enqueue.c"}) &&
      !text.ends_with("Progress Thread]") && !text.ends_with("[Async thread]"))
    return std::nullopt;
  return failure_of_result(*number);
}

std::optional<NcclFailure> read_warning(string_view text) {
  if (auto failure = read_completion(text)) return failure;
  if (is_harmless_warning(text)) return std::nullopt;
  if (auto failure = read_event(text)) return failure;
  if (auto failure = read_device_failure(text)) return failure;
  if (auto failure = read_verbs(text)) return failure;
  if (auto failure = read_broken(text)) return failure;
  // Its second error, "errno 11(Resource temporarily unavailable)", is of a socket that does not wait.
  if (text.find("PollConnect: Connect to") != text.npos) return read_no_connection(text);
  if (auto failure = read_words(text)) return failure;
  if (auto failure = read_no_connection(text)) return failure;
  if (is_error_elsewhere(text)) return of_code(Code::EndedElsewhere);
  return of_code(Code::UnknownWarning);
}

std::optional<NcclFailure> read_any(string_view text, bool warning) {
  if (auto failure = read_connect(text, warning)) return failure;
  if (text.find("Failed to open libibverbs.so") != text.npos) return of_code(Code::NoVerbsLibrary);
  if (auto failure = read_attempt(text)) return failure;
  if (warning) return read_warning(text);
  return read_end(text);
}

std::optional<NcclFailure> with_text(std::optional<NcclFailure> failure, string_view text) {
  if (failure) failure->text = text.substr(0, kLongestText);
  return failure;
}

}  // namespace

namespace {

enum Trait : unsigned {
  kNone = 0,
  kOfPort = 1,
  kOfTransfer = 2,
  kOfPeer = 4,
  kFollowsEnd = 8,
  kInWords = 16
};

// What is known of each code of a failure; of one that is not here: it is the cause, and no value is to
// blame.
struct FailureKind {
  Code code;
  Nearness nearness = Nearness::Cause;
  unsigned traits = kNone;
  std::string_view blamed = {};
};

constexpr FailureKind kKinds[] = {
    {Code::EmptyGid, Nearness::Cause, kNone, variable::kIbGidIndex},
    {Code::GidVanished, Nearness::Cause, kNone, variable::kIbGidIndex},
    {Code::NoNetdev, Nearness::Cause, kNone, variable::kIbGidIndex},
    {Code::LinkLocalGid, Nearness::Cause, kNone, variable::kIbGidIndex},
    {Code::GidTableChanged, Nearness::Cause, kOfPort, variable::kIbGidIndex},
    {Code::MixedLinks, Nearness::Cause, kNone, variable::kIbHca},
    {Code::NoInterface, Nearness::Cause, kNone, variable::kSocketIfname},
    {Code::UnreachableInterface, Nearness::Cause, kNone, variable::kSocketIfname},
    {Code::NetworkNotFound, Nearness::Cause, kNone, variable::kNet},
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
    {Code::DeviceNotOpened, Nearness::Symptom, kNone, variable::kIbHca},
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

bool is(const NcclFailure& failure, Trait trait) {
  return (kind_of(failure.code).traits & trait) != 0;
}

}  // namespace

std::string_view blamed_variable(Code code) {
  return kind_of(code).blamed;
}

Nearness NcclFailure::nearness() const {
  const bool flushed = code == Code::TransferFailed && error == kFlushed;  // after another one's error
  return flushed ? Nearness::Consequence : kind_of(code).nearness;
}

bool NcclFailure::is_port_event() const {
  return is(*this, kOfPort);
}
bool NcclFailure::is_told_by_its_words() const {
  return is(*this, kInWords);
}
bool NcclFailure::is_of_peer() const {
  return is(*this, kOfPeer);
}
bool NcclFailure::is_of_transfer() const {
  return is(*this, kOfTransfer);
}
bool NcclFailure::may_follow_end() const {
  return is(*this, kFollowsEnd);
}

std::optional<NcclFailure> read_nccl_failure(std::string_view message, bool warning) {
  return with_text(read_any(message, warning), message);
}

NcclFailure failure_of_result(int result) {
  constexpr string_view kTexts[kLastResult + 1] = {"",
                                                   "unhandled CUDA error",
                                                   "unhandled system error",
                                                   "internal error",
                                                   "invalid argument",
                                                   "invalid usage",
                                                   "remote process exited or network error"};
  NcclFailure failure = of_code(Code::GaveUp);
  failure.error = result;
  failure.error_text = kTexts[result];
  return failure;
}

std::optional<NcclFailure> read_unreachable(std::string_view interface, std::string_view address) {
  const bool inside = begins_with_any(interface, {"veth", "tun", "tap", "br-", "virbr", "docker", "cni",
                                                  "cali", "flannel", "ip6tnl", "lxc", "podman", "vxlan"});
  const bool link_local = begins_with_any(address, {"fe80:", "FE80:"});
  if (!(interface == "lo" || address.starts_with("127.") || address.starts_with("169.254.") ||
        (inside && link_local) || begins_with_any(interface, {"docker", "virbr"})))
    return std::nullopt;
  NcclFailure failure = of_code(Code::UnreachableInterface);
  failure.device = interface.substr(0, kLongestWord);
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
    return failure.is_told_by_its_words() ? failure.text : text;
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
