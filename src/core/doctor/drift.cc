// SPDX-License-Identifier: Apache-2.0
// Addresses whose GID index moved while the node was up.
#include "doctor/checks.h"
#include "nccl_env/core/choose/gid_index.h"
#include "nccl_env/core/doctor/doctor.h"

namespace nccl_env {
namespace doctor {

void check_drift(Report& report) {
  each_fabric_port(report.pool, [&](const NodeView& node, const Rail&, const Port& port) {
    if (!port.gids) return;
    for (const GidRow& row : *port.gids) {
      if (!is_unsettled(row, report.input.now)) continue;
      const int changes = port.gid_index_changes.value_or(0);
      return report.add(Code::GidIndexMoved, Severity::Warning, node, port,
                        format_ip(row.address.value_or(row.gid.address())) + " is at index " +
                            std::to_string(row.index) + " since " + format_timestamp(*row.index_since) +
                            (changes > 1 ? "; addresses left theirs " + std::to_string(changes) +
                                               " times since the node booted"
                                         : std::string()));
    }
  });
}

}  // namespace doctor

std::vector<std::string> nodes_with_drift(const DoctorInput& input) {
  std::vector<std::string> nodes;
  for (const auto& table : input.tables) {
    for (const Port& port : table->ports) {
      if (port.gid_index_changes.value_or(0) == 0) continue;
      nodes.push_back(table->name);
      break;
    }
  }
  return nodes;
}

}  // namespace nccl_env
