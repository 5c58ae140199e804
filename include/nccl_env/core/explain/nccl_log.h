// SPDX-License-Identifier: Apache-2.0
// What NCCL's log (NCCL_DEBUG=INFO) proves about the values that a pod was given (docs/verify.md; the lines
// of NCCL 2.18 to 2.30, from its source). Any text may come: nothing in it is trusted, and memory is bounded.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/pod/review.h"
#include "nccl_env/result.h"

namespace nccl_env {

// A value as a container of the pod gets it.
struct InjectedValue {
  std::string container;
  std::string name;
  std::string value;
  std::string source;  // Node, Policy, File or Pod
};
// Of the pod's status annotation, its env and the annotations that Binding wrote, for one container or for
// all (""); a variable whose annotation is not there was not given. `object` is the pod as the API server
// gives it: its status tells what was found inside; null: nothing of that is known. Fails for a pod without
// the status annotation.
Result<std::vector<InjectedValue>> injected_values(const Pod& pod, std::string_view container,
                                                   const nlohmann::json* object = nullptr);

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

enum class LogVerdict { Used, Overridden, NotSeen, Contradicted };
std::string_view to_string(LogVerdict verdict);  // used, overridden, not seen, contradicted

struct VerifiedValue {
  InjectedValue given;
  LogVerdict verdict = LogVerdict::NotSeen;
  std::string evidence;    // one sentence
  std::uint64_t line = 0;  // of the log; 0 where nothing was seen
};

struct LogVerification {
  std::vector<VerifiedValue> values;
  bool fell_back = false;          // to sockets, though nobody turned the fabric off
  std::vector<std::string> notes;  // sentences: the fall-back, what else is worth knowing
};

LogVerification verify_log(const NcclLog& log, const std::vector<InjectedValue>& given);
// Neither overridden nor contradicted, and no fall-back.
bool is_good(const LogVerification& verification);

nlohmann::ordered_json to_json(const LogVerification& verification, const NcclLog& log);
std::string render_text(const LogVerification& verification, const NcclLog& log);

}  // namespace nccl_env
