// SPDX-License-Identifier: Apache-2.0
// A cluster's fabric for one page (docs/use/doctor.md): every node with its ports, what the doctor found on
// it, and the grid of nodes and HCAs. Pure data, without layout.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/doctor/doctor.h"

namespace nccl_env {

// Statements about a port's GID index.
enum class PortGid { Index, NotRoCE, PortDown, RowsUnknown, NoUsableRow };
std::string_view to_string(PortGid value);

struct PortReport {
  const Port* port = nullptr;  // into the node's table
  std::string name;            // "mlx5_1", "mlx4_0:2"
  bool fabric = false;         // some policy takes it (inference, if there is none)
  std::string why;             // one clause: why no policy takes it
  PortGid gid = PortGid::RowsUnknown;
  std::optional<int> gid_index;      // the node's, where it is usable here; else the port's lowest
  std::optional<Severity> severity;  // of the worst finding that names the port
  std::vector<RowVerdict> rows;      // as the port's gids
};

struct NodeReport {
  const NodeFabric* table = nullptr;
  const NodeState* state = nullptr;
  std::optional<Severity> severity;   // of its worst finding
  std::vector<std::size_t> findings;  // into the diagnosis
  std::vector<PortReport> ports;      // in table order
};

struct FabricReport {
  const Diagnosis* diagnosis = nullptr;
  std::string title;  // the cluster's name; "": not known
  Timestamp time;
  std::chrono::seconds max_table_age{};
  std::vector<std::string> policies;   // names; none: inference
  std::vector<NodeReport> nodes;       // those with an error, with a warning, then others; by name
  std::size_t rail_ports = 0;          // ports that the pools' fabrics should have
  std::size_t failed_rail_ports = 0;   // of these, missing or known not to be Active
  std::size_t unknown_rail_ports = 0;  // of these, present but of unknown state

  // True of a node with an error or a warning; an info alone does not make a node odd.
  static bool is_odd(const NodeReport& node);
};

// Points into both arguments, which have to outlive it. `diagnosis` is that of `input`.
FabricReport report_fabric(const DoctorInput& input, const Diagnosis& diagnosis);

// One JSON object in ASCII without '<', so that it may stand in a <script> element whatever names it holds.
// Compact: each text stands once in `strings`. A record is a list, and `fields` holds the names of its
// fields; a field whose name begins with '$' is a place in `strings`. `version` is the program's.
std::string to_page_json(const FabricReport& report, std::string_view version);

}  // namespace nccl_env
