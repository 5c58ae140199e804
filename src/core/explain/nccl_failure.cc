// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/nccl_failure.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "nccl_env/core/nccl/variables.h"
#include "nccl_env/core/text/enum_names.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

using OrderedJson = nlohmann::ordered_json;

using Kind = NcclFailureKind;
using std::string_view;

// NCCL's own words on a queue pair are 250 bytes; a hostile log has more.
constexpr std::size_t kLongestText = 512;
// IPv6 in text has 45, a device at most 64.
constexpr std::size_t kLongestWord = 64;

struct Entry {
  Kind kind;
  string_view name;
  string_view meaning;
  string_view remedy;
  string_view blamed;
};

constexpr std::array kFailures{
    Entry{Kind::EmptyGid, "EmptyGid", "That GID index is an empty row on that port.",
          "Leave the index to NCCL (unset, or -1, from 2.21.5 on), or name the row that the pod has there: "
          "show_gids, run inside the pod.",
          variable::kIbGidIndex},
    Entry{Kind::GidVanished, "GidVanished",
          "The row of that GID index is gone: the index drifted, as after a link flap or a new address.",
          "Create the pod anew, so that it gets today's index; nccl-env explain pod/NAME tells whether it "
          "changed.",
          variable::kIbGidIndex},
    Entry{Kind::NoRoute,
          "NoRoute",
          "The other end cannot be reached on that rail: its address has no ARP or neighbour entry, or there "
          "is no route to it.",
          "Check address, VLAN and route of the rail on both nodes; where rails are not connected with each "
          "other, set NCCL_CROSS_NIC=0.",
          {}},
    Entry{
        Kind::NoNetdev, "NoNetdev",
        "The row's interface is not in the pod's network namespace, as with a shared device plugin without a "
        "secondary network.",
        "Attach the rail's secondary network to the pod, or run it with hostNetwork.", variable::kIbGidIndex},
    Entry{Kind::LinkLocalGid, "LinkLocalGid",
          "The queue pair has a link-local row, which is not routed: the rail has no address, or the index "
          "names the wrong row.",
          "Give the rail's interface an address, and take the index of that row.", variable::kIbGidIndex},
    Entry{
        Kind::ConnectFailed,
        "ConnectFailed",
        "The device refuses the queue pair: most often the GID index is an empty row, or the two ends differ "
        "in link layer or MTU.",
        "Compare show_gids and the MTU of both ends; NCCL 2.24 and later name the port and both GIDs here.",
        {}},
    Entry{
        Kind::NoAnswer,
        "NoAnswer",
        "The peer did not acknowledge within all retries. Likely causes: priority flow control, a cable, or "
        "a peer that is gone.",
        "Look for the rank that failed first; else compare NCCL_IB_TC and NCCL_IB_SL with what the switches "
        "expect, and look at the port's error counters.",
        {}},
    Entry{Kind::TransferFailed,
          "TransferFailed",
          "A transfer between two ranks failed.",
          "Look for the rank that failed first: this line mostly appears because another rank ended.",
          {}},
    Entry{Kind::GidTableChanged, "GidTableChanged",
          "The port's GID table changed under the running job: an index may name another row than at the "
          "start. NCCL 2.31 and later find the row again, unless an index is set.",
          "Look for link flaps and new addresses on that port, and create the pod anew if the job hangs.",
          variable::kIbGidIndex},
    Entry{
        Kind::DeviceNotOpened, "DeviceNotOpened",
        "NCCL sees a device that the pod may not open: NCCL_IB_HCA names more than the pod was given.",
        "Request the RDMA resource of every HCA in NCCL_IB_HCA, or name fewer. Ranks with unequal numbers of "
        "HCAs may wait for each other for ever.",
        variable::kIbHca},
    Entry{Kind::GidTypeUnreadable,
          "GidTypeUnreadable",
          "The type of a GID cannot be read inside the pod; without it, NCCL 2.21 to 2.25 finds no row.",
          "Use NCCL 2.26.2 or later, or set NCCL_IB_GID_INDEX to the pod's row.",
          {}},
    Entry{Kind::MixedLinks, "MixedLinks",
          "NCCL uses HCAs of both kinds, InfiniBand and RoCE, which cannot connect with each other.",
          "Name HCAs of one kind: in NCCL_IB_HCA, or as spec.fabric.linkLayer of the policy.",
          variable::kIbHca},
    Entry{Kind::NoInterface, "NoInterface",
          "The pod has no interface that NCCL may take for its sockets: no interface of that name is up and "
          "has an address.",
          "Name one that the pod has, as ip address shows inside the pod.", variable::kSocketIfname},
    Entry{Kind::NoVerbsLibrary,
          "NoVerbsLibrary",
          "The image has no libibverbs, so NCCL sees no HCA: no device and no resource helps.",
          "Install libibverbs1 and ibverbs-providers (rdma-core) in the image.",
          {}},
    Entry{Kind::NetworkNotFound, "NetworkNotFound",
          "The network that NCCL is told to use is not there: no plugin has that name, or the plugin found "
          "no device.",
          "Install the plugin in the image or remove NCCL_NET; if NCCL_NET is IB, the pod has no usable HCA.",
          variable::kNet},
    Entry{Kind::GaveUp,
          "GaveUp",
          "A call of NCCL's ended with an error.",
          "Read the warnings before that line, and the logs of the other ranks: the log of the rank that "
          "failed first names the cause.",
          {}},
};
static_assert(in_order(kFailures, &Entry::kind));
static_assert(static_cast<std::size_t>(Kind::GaveUp) + 1 == kFailures.size());

const Entry& entry_of(Kind kind) {
  return kFailures[static_cast<std::size_t>(kind)];
}

// The text behind `mark`; nothing if `mark` is not in the text.
std::optional<string_view> behind(string_view text, string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == text.npos) return std::nullopt;
  return text.substr(at + mark.size());
}

string_view up_to(string_view text, string_view ends) {
  return text.substr(0, std::min(text.find_first_of(ends), kLongestWord));
}

std::optional<int> leading_number(string_view text) {
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + std::min<std::size_t>(text.size(), 9), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

bool is_device_character(char c) {
  return is_alphanumeric(c) || c == '_' || c == '-' || c == '.';
}

// "mlx5_1" or "mlx5_1:1".
void read_device(string_view text, NcclFailure& into) {
  const string_view word = up_to(text, " ,/");
  const std::size_t colon = std::min(word.find(':'), word.size());
  const string_view name = word.substr(0, colon);
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_device_character)) return;
  into.device = name;
  if (colon < word.size()) into.port = leading_number(word.substr(colon + 1));
}

// An address as inet_ntop prints it; "" for "N/A" and any other text.
std::string gid_in(string_view text) {
  const string_view word = up_to(text, " ,");
  const bool address = word.size() >= 2 && std::all_of(word.begin(), word.end(), [](char c) {
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

struct Errno {
  int number;
  string_view text;
};
// Errors that ibv_modify_qp returns, with strerror's texts, because NCCL up to 2.20 prints no number.
constexpr Errno kErrors[] = {{19, "No such device"},        {22, "Invalid argument"},
                             {61, "No data available"},     {101, "Network is unreachable"},
                             {110, "Connection timed out"}, {113, "No route to host"}};

Kind kind_of_error(const NcclFailure& failure) {
  const int error = failure.error.value_or(0);
  // Linux 6.1 gives 61 for a row that was always empty; for a row that has gone, NCCL still prints the GID.
  if ((error == 22 || error == 19 || error == 61) && is_zero_gid(failure.local_gid)) return Kind::EmptyGid;
  if (error == 19) return Kind::NoNetdev;
  if (error == 61) return Kind::GidVanished;
  if (error != 110 && error != 101 && error != 113) return Kind::ConnectFailed;
  return is_link_local(failure.local_gid) ? Kind::LinkLocalGid : Kind::NoRoute;
}

// "Call to ibv_modify_qp failed with 22 Invalid argument, on dev mlx5_1:1, curr state INIT, next state RTR,
// local GID index 3, local GID ::, remote GID ::ffff:10.0.0.2" (from 2.24); "… failed with error Invalid
// argument errno 22" (2.21 to 2.23); "… failed with error Invalid argument" (before).
std::optional<NcclFailure> read_connect(string_view text, bool warning) {
  auto rest = behind(text, "ibv_modify_qp failed with ");
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
  if (const auto device = behind(*rest, " on dev ")) read_device(*device, failure);
  if (const auto index = behind(*rest, "local GID index ")) failure.gid_index = leading_number(*index);
  if (failure.gid_index && *failure.gid_index < 0) failure.gid_index.reset();
  if (const auto gid = behind(*rest, "local GID ")) {
    // The first "local GID " may belong to "local GID index".
    const auto own = behind(*gid, ", local GID ");
    failure.local_gid = gid_in(own ? *own : *gid);
  }
  if (const auto gid = behind(*rest, "remote GID ")) failure.remote_gid = gid_in(*gid);
  failure.kind = kind_of_error(failure);
  return failure;
}

// "Got completion from peer 10.0.0.2<4711> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid
// ::ffff:10.0.0.1 remoteGids::ffff:10.0.0.2 hca mlx5_1"; "with error 12, opcode" in 2.18; "with
// status=IBV_WC_RETRY_EXC_ERR(12)" from 2.28.
std::optional<NcclFailure> read_completion(string_view text) {
  const auto peer = behind(text, "Got completion from peer ");
  if (!peer) return std::nullopt;
  NcclFailure failure;
  failure.kind = Kind::TransferFailed;
  failure.peer = up_to(*peer, " ,");
  auto status = behind(*peer, "with status=");
  if (!status) status = behind(*peer, "with error ");
  if (!status) return std::nullopt;
  failure.error = leading_number(*status);
  if (const string_view name = up_to(*status, " ,"); !failure.error && name.starts_with("IBV_WC_")) {
    const std::size_t open = std::min(name.find('('), name.size());
    failure.error_text = name.substr(0, open);
    failure.error = leading_number(name.substr(std::min(open + 1, name.size())));
  }
  if (const auto gid = behind(*peer, "localGid ")) failure.local_gid = gid_in(*gid);
  if (const auto gid = behind(*peer, "remoteGids")) failure.remote_gid = gid_in(*gid);
  if (const auto device = behind(*peer, " hca ")) read_device(*device, failure);
  if (failure.error == 12)
    failure.kind = is_link_local(failure.local_gid) ? Kind::LinkLocalGid : Kind::NoAnswer;
  return failure;
}

NcclFailure of_kind(Kind kind) {
  NcclFailure failure;
  failure.kind = kind;
  return failure;
}

// "NET/IB : mlx5_3:1 Got async event : GID table change" (up to 2.22; in 2.18 without the port), "… unknown
// event type (18)" (2.23 to 2.28, without a name for it), "… GID table changed" (from 2.28).
std::optional<NcclFailure> read_event(string_view text) {
  if (text.find("GID table change") == text.npos && text.find("unknown event type (18)") == text.npos)
    return std::nullopt;
  NcclFailure failure = of_kind(Kind::GidTableChanged);
  if (const auto device = behind(text, "NET/IB : ")) {
    const string_view word = up_to(*device, " ");
    if (word.find(':') != word.npos) read_device(word, failure);
  }
  return failure;
}

std::optional<NcclFailure> read_device_failure(string_view text) {
  if (const auto device = behind(text, "Unable to open device ")) {
    NcclFailure failure = of_kind(Kind::DeviceNotOpened);
    read_device(*device, failure);
    return failure;
  }
  if (const auto problem = behind(text, "read failed in ncclIbRoceGetVersionNum")) {
    NcclFailure failure = of_kind(Kind::GidTypeUnreadable);
    if (problem->starts_with(": ")) failure.error_text = problem->substr(2, kLongestWord);
    return failure;
  }
  // "Attempted to connect incompatible devices: [0]mlx5_0:1/IB and [1]mlx5_1:1/RoCE."
  if (const auto devices = behind(text, "Attempted to connect incompatible devices: ")) {
    NcclFailure failure = of_kind(Kind::MixedLinks);
    if (const auto name = behind(up_to(*devices, " "), "]")) read_device(*name, failure);
    return failure;
  }
  return std::nullopt;
}

std::optional<NcclFailure> read_start(string_view text) {
  for (const string_view words :
       {string_view("no socket interface found"), string_view("No socket interface found"),
        string_view("NET/Socket : no interface found"), string_view("No IP interface found"),
        string_view("No usable listening interface found")}) {
    if (text.find(words) != text.npos) return of_kind(Kind::NoInterface);
  }
  // Up to 2.26; later versions do not name the network.
  if (const auto name = behind(text, "Error: network ")) {
    const std::size_t end = name->find(" not found");
    if (end == name->npos) return std::nullopt;
    NcclFailure failure = of_kind(Kind::NetworkNotFound);
    failure.network = name->substr(0, std::min(end, kLongestWord));
    return failure;
  }
  if (text.find("Failed to initialize any NET plugin") != text.npos) return of_kind(Kind::NetworkNotFound);
  return std::nullopt;
}

// ncclResult_t; 7 is "in progress", which is not an error.
constexpr string_view kResults[] = {"",
                                    "unhandled CUDA error",
                                    "unhandled system error",
                                    "internal error",
                                    "invalid argument",
                                    "invalid usage",
                                    "remote process exited or network error"};

// "proxy.cc:694 -> 6 [Progress Thread]", "group.cc:64 -> 3 [Async thread]": the last line of an error that no
// caller handled.
std::optional<NcclFailure> read_end(string_view text) {
  if (!text.ends_with("Progress Thread]") && !text.ends_with("[Async thread]")) return std::nullopt;
  const auto result = behind(text, "-> ");
  const auto number = result ? leading_number(*result) : std::nullopt;
  if (!number || *number < 1 || *number >= static_cast<int>(std::size(kResults))) return std::nullopt;
  NcclFailure failure = of_kind(Kind::GaveUp);
  failure.error = number;
  failure.error_text = kResults[*number];
  return failure;
}

std::optional<NcclFailure> read_any(string_view text, bool warning) {
  if (auto failure = read_connect(text, warning)) return failure;
  if (!warning) {
    if (text.find("Failed to open libibverbs.so") != text.npos) return of_kind(Kind::NoVerbsLibrary);
    return read_end(text);
  }
  if (auto failure = read_completion(text)) return failure;
  if (auto failure = read_event(text)) return failure;
  if (auto failure = read_device_failure(text)) return failure;
  return read_start(text);
}

}  // namespace

std::string_view to_string(NcclFailureKind kind) {
  return entry_of(kind).name;
}

std::string_view meaning(NcclFailureKind kind) {
  return entry_of(kind).meaning;
}

std::string_view remedy(NcclFailureKind kind) {
  return entry_of(kind).remedy;
}

std::string_view blamed_variable(NcclFailureKind kind) {
  return entry_of(kind).blamed;
}

std::optional<NcclFailure> read_nccl_failure(std::string_view message, bool warning) {
  auto failure = read_any(message, warning);
  if (failure) failure->text = message.substr(0, kLongestText);
  return failure;
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
  if (!failure.error && failure.error_text.empty()) return text.empty() ? failure.text : text;
  const bool completion = failure.kind == Kind::NoAnswer || !failure.peer.empty();
  std::string error = completion ? "status " : failure.kind == Kind::GaveUp ? "result " : "";
  if (failure.error) error += std::to_string(*failure.error) + (failure.error_text.empty() ? "" : " ");
  return text + (text.empty() ? "" : ": ") + error + failure.error_text;
}

nlohmann::ordered_json to_json(const NcclFailure& failure) {
  OrderedJson json = OrderedJson::object();
  json["kind"] = to_string(failure.kind);
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
  json["text"] = failure.text;
  return json;
}

}  // namespace nccl_env
