// SPDX-License-Identifier: Apache-2.0
// NCCL's log (NCCL_DEBUG=INFO), read line by line (docs/verify.md; the lines of NCCL 2.18 to 2.30, from its
// source). Any text may come: nothing in it is trusted, and memory is bounded.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace nccl_env {

// What was seen, and where first.
struct LogFact {
  std::uint64_t line = 0;             // from 1
  std::set<std::uint32_t> processes;  // that said so, as numbers; at most kMaxProcesses
};
inline constexpr std::size_t kMaxProcesses = 4096;

struct NcclLog {
  using Facts = std::map<std::string, LogFact, std::less<>>;  // by what was said; at most 256

  std::uint64_t lines = 0;
  std::uint64_t nccl_lines = 0;
  std::size_t processes = 0;
  Facts versions;                                     // "2.21.5+cuda12.4"
  std::map<std::string, Facts, std::less<>> values;   // variable -> value as it was read
  std::map<std::string, Facts, std::less<>> refused;  // variable -> value that NCCL refused
  Facts devices;                                      // "mlx5_0:1" of lines "NET/IB : Using"
  bool device_line_cut = false;                       // one of them may name fewer than there are
  Facts networks;                                     // "IB", "Socket", of "Using network"
  Facts transports;                                   // "NET/IB", "NET/Socket", of channels
  Facts gid_indexes;                                  // of queue pairs
  Facts bootstrap;                                    // interfaces
  Facts no_device;                                    // "NET/IB : No device found."
  Facts warnings;                                     // texts of NCCL WARN
};

// Reads a log line by line.
class NcclLogReader {
 public:
  static constexpr std::size_t kMaxLine = 64u << 10;  // what is longer has to be cut by the caller

  NcclLogReader();
  ~NcclLogReader();
  // Without its end. `cut`: the line was longer.
  void read_line(std::string_view text, bool cut = false);
  [[nodiscard]] const NcclLog& log() const { return log_; }

 private:
  struct Message;
  void read_message(const Message& message);
  bool read_value(const Message& message);
  void read_devices(const Message& message);
  bool read_network(const Message& message);

  NcclLog log_;
  std::map<std::string, std::uint32_t, std::less<>> processes_;
};

}  // namespace nccl_env
