// SPDX-License-Identifier: Apache-2.0
// Failures that NCCL's log tells, and what each of them means (docs/use/explain.md; the lines of NCCL 2.18
// to 2.32 and of HPC-X's plugin). Any text may come: each message is read once, and a bounded part is
// kept.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "nccl_env/core/findings/catalogue.h"

namespace nccl_env {

// The variable whose value may be the cause; "" if none is.
std::string_view blamed_variable(Code code);

// Says how near a failure is to the cause, nearest first: a cluster's ranks fail one after the other, and
// most of them tell what another one did to them.
enum class Nearness { Cause, Symptom, Unknown, Slows, Consequence, End };

// A collective of PyTorch's that a rank waits for, by its number in a process group.
struct RankCall {
  std::pair<std::string, int> rank;  // and its group before it; "": all ranks; "?": some, without a name
  std::pair<int, std::string> call;  // 77, "ALLREDUCE"
};

struct NcclFailure {
  Code code = Code::GaveUp;
  bool retried = false;    // NCCL says that it tries again
  std::string text;        // its own words, at most 512 bytes
  std::string summary;     // of a framework's long line: what it says in short; else ""
  std::uint64_t line = 0;  // of the first, from 1
  std::uint64_t last_line = 0;
  std::uint64_t times = 1;            // lines that say the same of the same port and row
  std::set<std::uint32_t> processes;  // that said so, as numbers; at most kMaxProcesses
  std::string first_time, last_time;  // "15:16:23", as far as a logger wrote them
  // As far as the line says it.
  std::string device;       // "mlx5_1"; of sockets the interface
  std::optional<int> port;  // from 1
  std::optional<int> gid_index;
  std::string local_gid;  // as NCCL prints it: "::ffff:10.0.0.1"
  std::string remote_gid;
  std::string peer;          // "10.0.0.2<4711>"
  std::string network;       // of NetworkNotFound
  std::optional<int> error;  // errno; for a completion its status; for GaveUp NCCL's result
  std::string error_text;    // "Invalid argument"
  std::optional<int> vendor_error;
  std::optional<RankCall> waits_for;

  enum Trait : unsigned {
    kOfPort = 1,      // of a port's link, GIDs or adapter
    kOfTransfer = 2,  // a completion with an error, which may follow from one
    kOfPeer = 4,      // another rank's end, or its silence
    kFollowsEnd = 8,  // may follow the end of another rank
    kInWords = 16     // its device or peer alone does not say what happened
  };
  [[nodiscard]] bool is(Trait trait) const;
  [[nodiscard]] bool is_port_event() const { return is(kOfPort); }
  [[nodiscard]] bool is_of_transfer() const { return is(kOfTransfer); }
  [[nodiscard]] bool is_of_peer() const { return is(kOfPeer); }
  [[nodiscard]] bool may_follow_end() const { return is(kFollowsEnd); }
  [[nodiscard]] Nearness nearness() const;
};

// A failure of which the line tells nothing but its code; its text is cut.
NcclFailure failure_of(Code code, std::string_view text);

struct FailureWords {
  std::string_view meaning, remedy;
};
// Returns the words of the failure's code, or nearer ones where its line has them.
FailureWords words_of(const NcclFailure& failure);
// "mlx5_1:1, GID index 3, local GID ::, remote GID ::ffff:10.0.0.2: 22 Invalid argument".
std::string describe(const NcclFailure& failure);
// code, line, times, processes, text, retried, device, port, …: null where the line does not say it.
nlohmann::ordered_json to_json(const NcclFailure& failure);

}  // namespace nccl_env
