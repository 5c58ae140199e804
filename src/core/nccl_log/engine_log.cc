// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/engine_log.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "nccl_env/core/nccl_log/log_mark.h"
#include "nccl_env/core/nccl_log/log_text.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

using std::string_view;

constexpr std::size_t kMost = 256, kLongest = 128, kLongestMessage = 512;

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

int number_in(string_view text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + std::min<std::size_t>(text.size(), 9), number);
  return number;
}

void note(EngineLog::Lines& lines, string_view what, std::uint64_t line) {
  what = what.substr(0, kLongest);
  if (!what.empty() && (lines.size() < kMost || lines.contains(what))) lines.emplace(what, line);
}

bool is_device_text(string_view text) {
  return !text.empty() && text.size() <= kLongest && std::ranges::all_of(text, [](char c) {
    return is_alphanumeric(c) || c == '_' || c == '-' || c == '.' || c == ':';
  });
}

NcclFailure failure_of(Code code, string_view text) {
  NcclFailure failure;
  failure.code = code;
  failure.text = text.substr(0, kLongestMessage);
  return failure;
}

// "mlx5_0:1" of "… on mlx5_0:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)".
void read_port_of_error(string_view text, NcclFailure& into) {
  const auto word = text_behind(text, " on ");
  if (!word) return;
  const string_view device = word->substr(0, word->find_first_of(" /"));
  const std::size_t colon = device.find(':');
  if (!is_device_text(device) || colon == device.npos) return;
  into.device = device.substr(0, colon);
  if (const int port = number_in(device.substr(colon + 1)); port > 0) into.port = port;
}

// "network devices 'mlx5_8:1','mlx5_9:1' are not available, please use one or more of: 'eth0'(tcp)".
void read_lacking(string_view text, std::uint64_t line, EngineLog& into) {
  if (!text.starts_with("network device")) return;
  text = text.substr(0, text.find(" not available"));
  for (int names = 0; names < 64; ++names) {
    const std::size_t begin = text.find('\'');
    const std::size_t end = begin == text.npos ? begin : text.find('\'', begin + 1);
    if (end == text.npos) return;
    if (const string_view name = text.substr(begin + 1, end - begin - 1); is_device_text(name))
      note(into.lacking, name, line);
    text.remove_prefix(end + 1);
  }
}

// "ucp_context_0 inter-node cfg#2 tag(rc_mlx5/mlx5_0:1 tcp/eth0) am(…)", before 1.14 "ep_cfg[2]: tag(…);":
// the lanes to another process. Those inside a node say nothing of the fabric.
void read_lanes(string_view text, std::uint64_t line, EngineLog& into) {
  if (text.find("self cfg#") != text.npos || text.find("intra-node cfg#") != text.npos) return;
  for (int words = 0; words < 256 && !text.empty(); ++words) {
    const std::size_t end = std::min(text.find_first_of(" ();"), text.size());
    const string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t slash = word.find('/');
    if (slash == word.npos || slash == 0) continue;
    const string_view transport = word.substr(0, slash), device = word.substr(slash + 1);
    if (!is_device_text(device)) continue;
    if (transport != "tcp" && device.find(':') != device.npos) note(into.devices, device, line);
  }
}

std::optional<NcclFailure> read_ucx_problem(string_view text, std::uint64_t line, EngineLog& into) {
  for (const auto& [words, code] : kUcxWords) {
    if (text.find(words) == text.npos) continue;
    NcclFailure failure = failure_of(code, text);
    read_port_of_error(text, failure);
    if (code == Code::DeviceNotAvailable) read_lacking(text, line, into);
    return failure;
  }
  return std::nullopt;
}

// "…/ibrc.cpp 1571 Enumerated IB devices in the system - device id=0 (of 4), name=mlx5_0, num_ports=1", "…
// Ordered list of devices for assignment - idx=0 (of 2), device id=0, port_num=1"; from 3.5 on "NVSHMEM INFO
// NIC mlx5_0 selected for PE 0".
// Returns whether only NVSHMEM prints such a line, as the next two do.
bool read_nvshmem_devices(string_view text, std::uint64_t line, EngineLog& into) {
  if (const auto device = text_behind(text, "Enumerated IB devices in the system - device id=")) {
    const auto name = text_behind(*device, "name=");
    const string_view word = name ? name->substr(0, name->find(',')) : string_view();
    if (is_device_text(word) && into.names.size() < kMost) into.names[number_in(*device)] = word;
    return true;
  }
  if (const auto ordered = text_behind(text, "Ordered list of devices for assignment - idx=")) {
    const auto id = text_behind(*ordered, "device id="), port = text_behind(*ordered, "port_num=");
    const auto name = id ? into.names.find(number_in(*id)) : into.names.end();
    const int number = port ? number_in(*port) : -1;
    if (number > 0 && name != into.names.end())
      note(into.devices, name->second + ":" + std::to_string(number), line);
    return true;
  }
  const auto nic = text_behind(text, " NVSHMEM INFO NIC ");
  if (nic && nic->find(" selected for PE ") != nic->npos) {
    if (const string_view name = nic->substr(0, nic->find(' ')); is_device_text(name))
      note(into.devices, name, line);
  }
  return text.find("HCA list provided by user") != text.npos ||
         text.find("Enumerating IB devices in the system") != text.npos;
}

// "WARN: cound not find user specified HCA name: mlx5_9 port: -1, skipping" (its own spelling), "Unable to
// open the libnvshmem_transport_ibrc.so.3 transport.".
bool read_nvshmem_failure(string_view text, std::uint64_t line, EngineLog& into,
                          std::optional<NcclFailure>& failure) {
  for (const auto& [words, code] : kNvshmemWords) {
    const auto rest = text_behind(text, words);
    if (!rest) continue;
    failure = failure_of(code, trimmed_text(text));
    if (!words.ends_with("name: ")) continue;
    const string_view name = rest->substr(0, rest->find(' '));
    if (is_device_text(name.substr(name.starts_with('=') ? 1 : 0))) note(into.lacking, name, line);
  }
  const auto transport = text_behind(text, "Unable to open the ");
  if (transport && transport->find(" transport.") != transport->npos)
    failure = failure_of(Code::NoTransport, trimmed_text(text));
  return failure.has_value();
}

}  // namespace

// "[1700000000.123456] [gpu-1:984  :0]   ucp_context.c:1508 UCX  WARN  network device …".
std::optional<EngineLine> read_ucx_line(std::string_view text, std::uint64_t line, EngineLog& into) {
  constexpr string_view kMark = " UCX  ";
  // An error also at the beginning of a line, where what stood before it was left out.
  const bool bare = text.starts_with("UCX  ERROR ") || text.starts_with("UCX  FATAL ");
  const auto rest = bare ? text.substr(kMark.size() - 1) : text_behind(text, kMark);
  if (!rest) return std::nullopt;
  const string_view level = rest->substr(0, rest->find(' '));
  constexpr string_view kLevels[] = {"FATAL", "ERROR", "WARN", "DIAG", "INFO", "PRINT"};
  if (std::ranges::find(kLevels, level) == std::end(kLevels)) return std::nullopt;
  const string_view message = trimmed_text(rest->substr(level.size()));
  EngineLine read;
  if (const auto place = text_behind(text.substr(0, text.find(kMark)), "] [")) {
    const string_view whole = place->substr(0, place->find(']'));
    const std::size_t last = whole.rfind(':');
    if (last != whole.npos && whole.find(':') != last) read.process = trimmed_text(whole.substr(0, last));
  }
  ++into.lines;
  if (const auto version = text_behind(message, "Version "); version && message.starts_with("Version ")) {
    note(into.versions, version->substr(0, version->find(' ')), line);
  } else if (message.find("cfg#") != message.npos || message.find("ep_cfg[") != message.npos) {
    read_lanes(message, line, into);
  }
  if (level == "WARN" || level == "ERROR" || level == "FATAL")
    read.failure = read_ucx_problem(message, line, into);
  return read;
}

// "gpu-1:984:984 [0] NVSHMEM INFO …"; its transports print without its name.
std::optional<EngineLine> read_nvshmem_line(std::string_view text, std::uint64_t line, EngineLog& into) {
  EngineLine read;
  bool ours = false;
  for (const string_view mark : {string_view(" NVSHMEM INFO "), string_view(" NVSHMEM WARN ")}) {
    const std::size_t at = text.find(mark);
    if (at == text.npos) continue;
    ours = true;
    const string_view whole = prefix_of(text.substr(0, at));
    if (const std::size_t last = whole.rfind(':'); last != whole.npos) read.process = whole.substr(0, last);
  }
  if (const auto version = text_behind(text, " NVSHMEM INFO NVSHMEM version: "))
    note(into.versions, version->substr(0, version->find(' ')), line);
  ours = read_nvshmem_devices(text, line, into) || ours;
  ours = read_nvshmem_failure(text, line, into, read.failure) || ours;
  if (!ours) return std::nullopt;
  ++into.lines;
  return read;
}

bool names_device(std::string_view entry, std::string_view device) {
  return entry == device || (entry.find(':') == entry.npos && entry == device.substr(0, device.find(':')));
}

nlohmann::ordered_json to_json(const EngineLog& log) {
  const auto names = [](const EngineLog::Lines& lines) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const auto& [what, line] : lines) all.push_back(what);
    return all;
  };
  return {{"lines", log.lines},
          {"versions", names(log.versions)},
          {"devices", names(log.devices)},
          {"lacking", names(log.lacking)}};
}

}  // namespace nccl_env
