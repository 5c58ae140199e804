// SPDX-License-Identifier: Apache-2.0
// NCCL's own use of its variables, version by version (2.18 to 2.32). docs/internals/nccl-rules.md lists the
// rules, each with the function of NCCL's code that holds it. Used to explain, to check our choices in tests,
// and by `nccl-env nodes`.
//
//   [ catalogue ]: each variable's kind and bounds         [ NcclVersion ]: in which version a rule changed
//         |                                                      |
//         v                                                      v
//   [ NcclEnv ] ----> lists, numbers ----> [ ports ] ----> [ gid ]     which HCAs, which index
//   (a process's)                          [ interfaces ]              which socket interfaces
//                                               |
//   NodeFabric -------------------------------->+----> [ NcclSelection ]: the choice, and notes on it
//
// Nothing is kept: catalogue and versions are constants, a selection is a value. Decisions use the
// catalogue, `ports` and `gid`; only what explains uses the rest.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nccl_env/core/engines/nccl/environment.h"
#include "nccl_env/core/engines/nccl/notes.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env {

struct NcclSelection {
  struct ChosenPort {
    std::string hca;
    int port = 1;
    std::optional<int> gid_index;  // absent: not known, or none on this link layer
  };
  std::vector<ChosenPort> ports;        // in NCCL's device order as far as the table tells it
  std::vector<std::string> interfaces;  // bootstrap first; empty where the table does not know them
  std::vector<std::string> notes;       // one sentence each: what is surprising or will fail
  std::vector<std::pair<NcclFault, std::string>> faults{};  // those of the notes that tell one
  bool needs_rows = false;  // an index is searched among GID rows, none of which is known
};

// Unknown facts that become notes. A caller that knows why the table lacks such facts writes its own note.
struct NcclUnknowns {
  bool gids = true, interfaces = true;
};

// Returns what this NCCL version would use on this node with this environment (names and values as the
// process sees them), from the table alone. What the table does not know becomes a note, never a guess.
NcclSelection nccl_select(const NodeFabric& table, const NcclEnv& env, const NcclVersion& version,
                          const NcclUnknowns& noted = {});

// {"hcas":["mlx5_0:1"],"gidIndex":{"mlx5_0:1":3},"interfaces":["eth0"],"notes":["…"]}
nlohmann::ordered_json to_json(const NcclSelection& selection);

}  // namespace nccl_env
