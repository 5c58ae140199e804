// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/nccl_failure.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "nccl_env/core/nccl/variables.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

using OrderedJson = nlohmann::ordered_json;

using std::string_view;

// NCCL's own words on a queue pair are 250 bytes; a hostile log has more.
constexpr std::size_t kLongestText = 512;
// IPv6 in text has 45, a device at most 64.
constexpr std::size_t kLongestWord = 64;

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

struct Errno {
  int number;
  string_view text;
};
// Errors that ibv_modify_qp returns, with strerror's texts, because NCCL up to 2.20 prints no number.
constexpr Errno kErrors[] = {{19, "No such device"},        {22, "Invalid argument"},
                             {61, "No data available"},     {101, "Network is unreachable"},
                             {110, "Connection timed out"}, {113, "No route to host"}};

Code code_of_error(const NcclFailure& failure) {
  const int error = failure.error.value_or(0);
  // Linux 6.1 gives 61 for a row that was always empty; for a row that has gone, NCCL still prints the GID.
  if ((error == 22 || error == 19 || error == 61) && is_zero_gid(failure.local_gid)) return Code::EmptyGid;
  if (error == 19) return Code::NoNetdev;
  if (error == 61) return Code::GidVanished;
  if (error != 110 && error != 101 && error != 113) return Code::ConnectFailed;
  return is_link_local(failure.local_gid) ? Code::LinkLocalGid : Code::NoRoute;
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
  failure.code = code_of_error(failure);
  return failure;
}

// "Got completion from peer 10.0.0.2<4711> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid
// ::ffff:10.0.0.1 remoteGids::ffff:10.0.0.2 hca mlx5_1"; "with error 12, opcode" in 2.18; "with
// status=IBV_WC_RETRY_EXC_ERR(12)" from 2.28.
std::optional<NcclFailure> read_completion(string_view text) {
  const auto peer = behind(text, "Got completion from peer ");
  if (!peer) return std::nullopt;
  NcclFailure failure;
  failure.code = Code::TransferFailed;
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
    failure.code = is_link_local(failure.local_gid) ? Code::LinkLocalGid : Code::NoAnswer;
  return failure;
}

NcclFailure of_code(Code code) {
  NcclFailure failure;
  failure.code = code;
  return failure;
}

// "NET/IB : mlx5_3:1 Got async event : GID table change" (up to 2.22; in 2.18 without the port), "… unknown
// event type (18)" (2.23 to 2.28, without a name for it), "… GID table changed" (from 2.28).
std::optional<NcclFailure> read_event(string_view text) {
  if (text.find("GID table change") == text.npos && text.find("unknown event type (18)") == text.npos)
    return std::nullopt;
  NcclFailure failure = of_code(Code::GidTableChanged);
  if (const auto device = behind(text, "NET/IB : ")) {
    const string_view word = up_to(*device, " ");
    if (word.find(':') != word.npos) read_device(word, failure);
  }
  return failure;
}

std::optional<NcclFailure> read_device_failure(string_view text) {
  if (const auto device = behind(text, "Unable to open device ")) {
    NcclFailure failure = of_code(Code::DeviceNotOpened);
    read_device(*device, failure);
    return failure;
  }
  if (const auto problem = behind(text, "read failed in ncclIbRoceGetVersionNum")) {
    NcclFailure failure = of_code(Code::GidTypeUnreadable);
    if (problem->starts_with(": ")) failure.error_text = problem->substr(2, kLongestWord);
    return failure;
  }
  // "Attempted to connect incompatible devices: [0]mlx5_0:1/IB and [1]mlx5_1:1/RoCE."
  if (const auto devices = behind(text, "Attempted to connect incompatible devices: ")) {
    NcclFailure failure = of_code(Code::MixedLinks);
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
    if (text.find(words) != text.npos) return of_code(Code::NoInterface);
  }
  // Up to 2.26; later versions do not name the network.
  if (const auto name = behind(text, "Error: network ")) {
    const std::size_t end = name->find(" not found");
    if (end == name->npos) return std::nullopt;
    NcclFailure failure = of_code(Code::NetworkNotFound);
    failure.network = name->substr(0, std::min(end, kLongestWord));
    return failure;
  }
  if (text.find("Failed to initialize any NET plugin") != text.npos) return of_code(Code::NetworkNotFound);
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
  NcclFailure failure = of_code(Code::GaveUp);
  failure.error = number;
  failure.error_text = kResults[*number];
  return failure;
}

std::optional<NcclFailure> read_any(string_view text, bool warning) {
  if (auto failure = read_connect(text, warning)) return failure;
  if (!warning) {
    if (text.find("Failed to open libibverbs.so") != text.npos) return of_code(Code::NoVerbsLibrary);
    return read_end(text);
  }
  if (auto failure = read_completion(text)) return failure;
  if (auto failure = read_event(text)) return failure;
  if (auto failure = read_device_failure(text)) return failure;
  return read_start(text);
}

}  // namespace

std::string_view blamed_variable(Code code) {
  switch (code) {
    case Code::EmptyGid:
    case Code::GidVanished:
    case Code::NoNetdev:
    case Code::LinkLocalGid:
    case Code::GidTableChanged:
      return variable::kIbGidIndex;
    case Code::DeviceNotOpened:
    case Code::MixedLinks:
      return variable::kIbHca;
    case Code::NoInterface:
      return variable::kSocketIfname;
    case Code::NetworkNotFound:
      return variable::kNet;
    default:
      return {};
  }
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
  const bool completion = failure.code == Code::NoAnswer || !failure.peer.empty();
  std::string error = completion ? "status " : failure.code == Code::GaveUp ? "result " : "";
  if (failure.error) error += std::to_string(*failure.error) + (failure.error_text.empty() ? "" : " ");
  return text + (text.empty() ? "" : ": ") + error + failure.error_text;
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
  json["text"] = failure.text;
  return json;
}

}  // namespace nccl_env
