// SPDX-License-Identifier: Apache-2.0
// NCCL's log (NCCL_DEBUG=INFO), read line by line (docs/use/explain.md; the lines of NCCL 2.18 to 2.32, from
// its source). Any text may come: nothing in it is trusted, and memory is bounded.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/judge/nccl_log/engine_log.h"
#include "nccl_env/judge/nccl_log/nccl_failure.h"

namespace nccl_env {

// An observation, and where it was made first.
struct LogFact {
  std::uint64_t line = 0;             // from 1
  std::set<std::uint32_t> processes;  // that said so, as numbers; at most kMaxProcesses
};
inline constexpr std::size_t kMaxProcesses = 4096;
inline constexpr std::string_view kOwnPlugin = "NCCL's own plugin";
// Lines behind an error that ended its program: the other ranks print some. Behind more the program went on.
inline constexpr std::uint64_t kMostBehindEnd = 20;

struct NcclLog {
  using Facts = std::map<std::string, LogFact, std::less<>>;  // by what was said; at most 256

  std::uint64_t lines = 0;
  std::uint64_t nccl_lines = 0;
  EngineLog ucx{.name = "UCX"}, nvshmem{.name = "NVSHMEM"};
  std::size_t processes = 0;
  std::vector<std::string> process_names;             // "gpu-1:984", by their numbers
  std::size_t hosts = 0;                              // on which those processes ran
  Facts versions;                                     // "2.21.5+cuda12.4", "RCCL 2.22.3-HEAD:6bfc0dd"
  std::map<std::string, Facts, std::less<>> values;   // variable -> value as it was read
  std::map<std::string, Facts, std::less<>> refused;  // variable -> value that NCCL refused
  Facts devices;                                      // "mlx5_0:1" of lines "NET/IB : Using"
  bool device_line_cut = false;                       // such a line may name fewer devices than there are
  Facts links;                                        // "InfiniBand", "RoCE" of such a line
  Facts networks;                                     // "IB", "Socket", "AWS Libfabric", of "Using network"
  Facts plugins;                                      // kOwnPlugin, "libnccl-net.so"
  Facts transports;                                   // "NET/IB", "NET/Socket", of channels
  Facts local_transports;                             // "P2P", "SHM"
  Facts mtus;                                         // of ports, as queue pairs tell: "5", ibv_mtu's number
  Facts gid_indexes;                                  // of queue pairs
  Facts bootstrap;                                    // interfaces
  Facts addresses;                                    // of those interfaces: "10.1.2.3"
  std::map<std::string, std::string, std::less<>> interfaces;  // of sockets: address -> name; at most 256
  Facts no_device;                                             // "NET/IB : No device found."
  Facts warnings;                 // lines that look like a failure and are harmless
  Facts initialising;             // communicators that began and have not ended that
  std::uint64_t initialised = 0;  // communicators that did
  bool ended = false;             // the job came to its end: a communicator's, or nccl-tests' last line
  std::optional<NcclFailure> last_error;  // the last one that is not the network's: EndedElsewhere
  std::uint64_t went_on = 0;              // lines of a program at work behind it
  std::vector<NcclFailure> failures;      // in the order of their lines; at most 256
  std::map<decltype(RankCall::rank), decltype(RankCall::call)> calls;  // the first of each; at most 4096
  // Devices whose ports came back -> the last line that tells so; at most 256.
  std::map<std::string, std::uint64_t, std::less<>> ports_back;
  // As the largest process group tells them; 0: no group does.
  int nodes = 0;  // from 2.20 on
  int ranks = 0;
  std::set<int> own_ranks;  // of that group, as the log tells them; at most 256

  // False of a log without a line that is known here.
  [[nodiscard]] bool speaks() const { return nccl_lines + ucx.lines + nvshmem.lines > 0 || ended; }
  [[nodiscard]] std::array<const EngineLog*, 2> engines() const { return {&ucx, &nvshmem}; }
  // The values of the variable as they were read; none where the log does not tell.
  [[nodiscard]] const Facts& read(std::string_view variable) const;
  // Whether all ranks of the job are on one node. False where the log does not tell.
  [[nodiscard]] bool is_of_one_node() const;
  // Whether the log has channels, all of them inside a node, and tells of no second one.
  [[nodiscard]] bool is_inside_node() const {
    return !local_transports.empty() && transports.empty() && nodes < 2 && hosts < 2;
  }
  [[nodiscard]] bool is_of_roce() const { return links.contains("RoCE") && !links.contains("InfiniBand"); }
  // Whether the log ends with an error that is not the network's.
  [[nodiscard]] bool ends_elsewhere() const { return last_error && went_on <= kMostBehindEnd; }
  // Whether a line tells that the initialisation ended, or what comes only behind it.
  [[nodiscard]] bool is_initialised() const {
    return initialised > 0 || ended || !transports.empty() || !local_transports.empty() || !mtus.empty() ||
           !gid_indexes.empty();
  }
  // The hosts of these processes: "gpu-1".
  [[nodiscard]] std::set<std::string> hosts_of(const std::set<std::uint32_t>& of) const;
  // The processes that a completion's peer is among, by address or host ("10.0.0.2<4711>", "node-a<4711>");
  // none where the log does not tell.
  [[nodiscard]] std::set<std::uint32_t> processes_of(std::string_view peer) const;
};

// Reads a log line by line.
class NcclLogReader {
 public:
  static constexpr std::size_t kMaxLine = 64u << 10;  // the caller has to cut a longer line

  // Reads one line, without its line feed. `cut`: the line was longer.
  void read_line(std::string_view text, bool cut = false);
  // Reads more of the same line.
  void read_rest(std::string_view text, bool cut = false);
  [[nodiscard]] const NcclLog& log() const { return log_; }

 private:
  struct Message;
  struct NamedAddress;
  void read_plain(std::string_view text, bool cut);
  void read_message(const Message& message);
  std::optional<std::uint32_t> process_of(std::string_view process);
  bool read_engine(const Message& message);
  bool read_framework(const Message& message);
  bool read_bare(const Message& message);
  bool read_unmarked(const Message& message);
  void note_version(const Message& message, std::string_view version);
  void read_initialisation(const Message& message);
  bool read_interfaces(const Message& message);
  void note_bootstrap(const Message& message, const NamedAddress& interface);
  void note_unreachable(const Message& message, const NamedAddress& interface);
  void read_trace(const Message& message);
  bool read_value(const Message& message);
  void read_devices(const Message& message, std::string_view ports);
  bool read_network(const Message& message);
  void add_failure(const Message& message, NcclFailure failure, bool repeated = false);
  void note_end(const Message& message);
  void acquit(const NcclFailure& behind);

  NcclLog log_;
  std::map<std::string, std::uint32_t, std::less<>> processes_;
  std::set<std::string, std::less<>> hosts_;
  std::map<std::string, std::string, std::less<>> numbered_;  // devices of "Using"; "": processes differ
  NcclLog::Facts warned_;                                     // threads whose last message is a harmless WARN
  std::string stamp_;                                         // of the line, taken off by plain_line()
  std::uint64_t counted_ = 0;                                 // the last line that counts as NCCL's
  std::uint64_t framework_line_ = 0;                          // of a framework's last words on NCCL
  std::optional<std::string> last_error_;  // what stands before "Last error:" of the line before
};

}  // namespace nccl_env
