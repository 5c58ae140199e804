// SPDX-License-Identifier: Apache-2.0
// What NCCL itself does with its variables, version by version (2.18 to 2.30; source: NCCL's own code,
// functions named at each rule, as listed in docs/nccl-rules.md). Used to explain, to test our choices
// against, and by `nccl-env nccl select`.
#pragma once

#include <compare>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/result.h"

namespace nccl_env {

struct NcclVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;
  auto operator<=>(const NcclVersion&) const = default;
};
// "2.21.5", "v2.21.5-1" (a tag), "2.21.5+cuda12.4" (the log); two numbers mean patch 0, which reads as the
// minor's first release. Refuses what lies outside 2.18 to 2.30, where the rules are not known.
Result<NcclVersion> parse_nccl_version(std::string_view text);
std::string format_nccl_version(const NcclVersion& version);
inline constexpr NcclVersion kNewestNccl{2, 30, 7};

// A parsed NCCL_IB_HCA or NCCL_SOCKET_IFNAME value (parseStringList, src/misc/utils.cc).
struct NcclNameList {
  struct Entry {
    std::string name;
    int port = -1;  // -1: any
    int rail = -1;
    int plane = -1;
  };
  bool exclude = false;  // leading ^
  bool exact = false;    // leading = (after ^)
  std::vector<Entry> entries;
  int dropped = 0;   // entries beyond the limit, which NCCL silently ignores
  int too_long = 0;  // entries of 64 bytes or more: memory overrun up to 2.30.4, cut to 63 from 2.30.7 on

  // The entry that matches first (matchIf, matchPort); nullptr if none does. A port of -1 stands for any.
  [[nodiscard]] const Entry* find(std::string_view name, int port) const;
  // matchIfList: an empty list matches everything; exclusion inverts.
  [[nodiscard]] bool selects(std::string_view name, int port) const;
};

// Never fails: NCCL never refuses a list. `limit` is how many entries this version reads.
NcclNameList parse_nccl_name_list(std::string_view text, const NcclVersion& version, int limit);
// How many HCA entries and device-ports a version uses: 16 up to 2.18.3, 32 from 2.18.5 (MAX_IB_DEVS).
int nccl_max_hcas(const NcclVersion& version);
// How many interface entries and interfaces every version uses (MAX_IFS).
inline constexpr int kNcclMaxInterfaces = 16;

using NcclEnv = std::map<std::string, std::string, std::less<>>;

struct NcclSelection {
  struct ChosenPort {
    std::string hca;
    int port = 1;
    std::optional<int> gid_index;  // absent: not known, or none on this link layer
  };
  std::vector<ChosenPort> ports;        // in NCCL's device order as far as the table tells it
  std::vector<std::string> interfaces;  // bootstrap first; empty where the table does not know them
  std::vector<std::string> notes;       // one sentence each: what is surprising or will fail
};

// What this NCCL version would use on this node with this environment (names and values as the process
// sees them), from the table alone. What the table does not know becomes a note, never a guess.
NcclSelection nccl_select(const NodeFabric& table, const NcclEnv& env, const NcclVersion& version);

// {"hcas":["mlx5_0:1"],"gidIndex":{"mlx5_0:1":3},"interfaces":["eth0"],"notes":["…"]}
nlohmann::json to_json(const NcclSelection& selection);

// The GID index that NCCL takes for one port: the literal, or its dynamic search (ncclIbGetGidIndex).
// `note` (may be null) gets sentences where the choice is a silent fall-back, will not carry traffic, or
// fails. nullopt where the call fails, or where the choice depends on rows that are not known.
std::optional<int> nccl_gid_index(const Port& port, const NcclEnv& env, const NcclVersion& version,
                                  std::string* note);

}  // namespace nccl_env
