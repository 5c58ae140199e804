// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/nccl_log/engine_log.h"

#include <algorithm>

#include "nccl_env/core/text/strict.h"
#include "nccl_env/judge/nccl_log/log_text.h"
#include "nccl_log/log_line.h"

namespace nccl_env {
namespace {

using std::string_view;

constexpr std::size_t kMost = 256, kLongest = 128;

struct EngineWords {
  string_view words;
  Code code;
};
constexpr EngineWords kUcxWords[] = {
    {"not available, please use one or more of", Code::DeviceNotAvailable},
    {"no usable transports/devices", Code::NoTransport},
    {"No transports selected", Code::NoTransport},
    {" transport to ", Code::NoTransport},
    {"Destination is unreachable", Code::NoTransport},
    {"ransport retry count", Code::NoAnswer},
    {"Remote access ", Code::RemoteAccess},
    {"emote invalid request", Code::RemoteAccess},
    {"ocal protection ", Code::GpuMemory},
    {"ulimit -l", Code::MemoryLock},
    {"Cannot allocate memory", Code::MemoryLock},
    {"QP to RTR", Code::ConnectFailed},
    {"ibv_create_ah", Code::ConnectFailed},
};
// Whole phrases of NVSHMEM's own: its transports print without its name.
constexpr EngineWords kNvshmemWords[] = {
    {"user specified HCA name: ", Code::DeviceNotAvailable},
    {"found inactive port or port with non", Code::DeviceNotAvailable},
    {"no active IB device found, exiting", Code::NoTransport},
    {"init failed for transport: ", Code::NoTransport},
};

void note(EngineLog::Lines& lines, string_view what, std::uint64_t line) {
  what = what.substr(0, kLongest);
  if (!what.empty() && (lines.size() < kMost || lines.contains(what))) lines.emplace(what, line);
}

bool is_device_text(string_view text) {
  return !text.empty() && text.size() <= kLongest && std::ranges::all_of(text, [](char c) {
    return is_alphanumeric(c) || c == '_' || c == '-' || c == '.' || c == ':';
  });
}

// "mlx5_0:1" of "… on mlx5_0:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)".
void read_port_of_error(string_view text, NcclFailure& into) {
  const string_view device = word_behind(text, " on ", " /");
  if (!is_device_text(device) || !has(device, ":")) return;
  into.device = device.substr(0, device.find(':'));
  if (const int port = int_behind(device, ":").value_or(0); port > 0) into.port = port;
}

// "network devices 'mlx5_8:1','mlx5_9:1' are not available, please use one or more of: 'eth0'(tcp)".
void read_lacking(string_view text, std::uint64_t line, EngineLog& into) {
  if (!text.starts_with("network device")) return;
  text = text.substr(0, text.find(" not available"));
  while (has(text, "'")) {
    take_word(text, "'");
    if (const string_view name = take_word(text, "'"); is_device_text(name)) note(into.lacking, name, line);
  }
}

// "ucp_context_0 inter-node cfg#2 tag(rc_mlx5/mlx5_0:1 tcp/eth0) am(…)", before 1.14 "ep_cfg[2]: tag(…);":
// the lanes to another process. Those inside a node say nothing of the fabric.
void read_lanes(string_view text, std::uint64_t line, EngineLog& into) {
  if (has_any(text, {"self cfg#", "intra-node cfg#"})) return;
  while (!text.empty()) {
    string_view device = take_word(text, " ();");
    const string_view transport = take_word(device, "/");
    if (!transport.empty() && transport != "tcp" && is_device_text(device) && has(device, ":"))
      note(into.devices, device, line);
  }
}

std::optional<NcclFailure> read_ucx_problem(string_view text, std::uint64_t line, EngineLog& into) {
  const auto row = std::ranges::find_if(kUcxWords, [&](const auto& each) { return has(text, each.words); });
  if (row == std::end(kUcxWords)) return std::nullopt;
  NcclFailure failure = failure_of(row->code, text);
  read_port_of_error(text, failure);
  if (row->code == Code::DeviceNotAvailable) read_lacking(text, line, into);
  return failure;
}

// "…/ibrc.cpp 1571 Enumerated IB devices in the system - device id=0 (of 4), name=mlx5_0, num_ports=1", "…
// Ordered list of devices for assignment - idx=0 (of 2), device id=0, port_num=1"; from 3.5 on "NVSHMEM INFO
// NIC mlx5_0 selected for PE 0".
// Returns whether only NVSHMEM prints such a line, as the next two do.
bool read_nvshmem_devices(string_view text, std::uint64_t line, EngineLog& into) {
  if (const auto device = text_behind(text, "Enumerated IB devices in the system - device id=")) {
    const string_view name = word_behind(*device, "name=", ",");
    if (is_device_text(name) && into.names.size() < kMost)
      into.names[leading_number(*device).value_or(-1)] = name;
    return true;
  }
  if (const auto ordered = text_behind(text, "Ordered list of devices for assignment - idx=")) {
    const auto id = int_behind(*ordered, "device id=");
    const auto name = into.names.find(id.value_or(-1));
    const int port = int_behind(*ordered, "port_num=").value_or(0);
    if (id && port > 0 && name != into.names.end())
      note(into.devices, name->second + ":" + std::to_string(port), line);
    return true;
  }
  const string_view nic = text_between(text, " NVSHMEM INFO NIC ", " selected for PE ");
  if (is_device_text(nic)) note(into.devices, nic, line);
  return has_any(text, {"HCA list provided by user", "Enumerating IB devices in the system"});
}

// "WARN: cound not find user specified HCA name: mlx5_9 port: -1, skipping" (its own spelling), "Unable to
// open the libnvshmem_transport_ibrc.so.3 transport.".
std::optional<NcclFailure> read_nvshmem_failure(string_view text, std::uint64_t line, EngineLog& into) {
  std::optional<NcclFailure> failure;
  for (const auto& [words, code] : kNvshmemWords) {
    const auto rest = text_behind(text, words);
    if (!rest) continue;
    failure = failure_of(code, trimmed_text(text));
    if (!words.ends_with("name: ")) continue;
    const string_view name = rest->substr(0, rest->find(' '));
    if (is_device_text(name.substr(name.starts_with('=') ? 1 : 0))) note(into.lacking, name, line);
  }
  if (!text_between(text, "Unable to open the ", " transport.").empty())
    failure = failure_of(Code::NoTransport, trimmed_text(text));
  return failure;
}

}  // namespace

// "[1700000000.123456] [gpu-1:984  :0]   ucp_context.c:1508 UCX  WARN  network device …".
std::optional<EngineLine> read_ucx_line(std::string_view text, std::uint64_t line, EngineLog& into) {
  constexpr string_view kMark = " UCX  ";
  // An error also at the beginning of a line, where what stood before it was left out.
  const bool bare = begins_with_any(text, {"UCX  ERROR ", "UCX  FATAL "});
  auto message = bare ? text.substr(kMark.size() - 1) : text_behind(text, kMark);
  if (!message) return std::nullopt;
  constexpr string_view kLevels[] = {"WARN", "ERROR", "FATAL", "DIAG", "INFO", "PRINT"};
  const auto level = std::ranges::find(kLevels, take_word(*message, " "));
  if (level == std::end(kLevels)) return std::nullopt;
  message = trimmed_text(*message);
  EngineLine read;
  // "gpu-1:984  :0"
  const string_view place = text_between(text.substr(0, text.find(kMark)), "] [", "]");
  if (const std::size_t last = place.rfind(':'); last != place.find(':'))
    read.process = trimmed_text(place.substr(0, last));
  ++into.lines;
  if (message->starts_with("Version ")) {
    note(into.versions, word_behind(*message, "Version ", " "), line);
  } else if (has_any(*message, {"cfg#", "ep_cfg["})) {
    read_lanes(*message, line, into);
  }
  if (level < std::begin(kLevels) + 3) read.failure = read_ucx_problem(*message, line, into);
  return read;
}

// "gpu-1:984:984 [0] NVSHMEM INFO …"; its transports print without its name.
std::optional<EngineLine> read_nvshmem_line(std::string_view text, std::uint64_t line, EngineLog& into) {
  EngineLine read;
  const string_view mark = first_in(text, {" NVSHMEM WARN ", " NVSHMEM INFO "});
  const string_view whole = mark.empty() ? mark : prefix_of(text.substr(0, text.find(mark)));
  if (has(whole, ":")) read.process = whole.substr(0, whole.rfind(':'));
  note(into.versions, word_behind(text, " NVSHMEM INFO NVSHMEM version: ", " "), line);
  const bool of_devices = read_nvshmem_devices(text, line, into);
  read.failure = read_nvshmem_failure(text, line, into);
  if (!read.failure && !of_devices && mark.empty()) return std::nullopt;
  ++into.lines;
  return read;
}

bool names_device(std::string_view entry, std::string_view device) {
  return entry == device || (entry.find(':') == entry.npos && entry == device.substr(0, device.find(':')));
}

}  // namespace nccl_env
