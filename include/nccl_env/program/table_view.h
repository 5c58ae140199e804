// SPDX-License-Identifier: Apache-2.0
// One table with the verdicts on its ports and rows, as `nccl-env table show` prints them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/decide/node_values.h"

namespace nccl_env::program {

struct TableView {
  const NodeFabric* table = nullptr;
  PortChoice choice;
  std::vector<std::vector<RowVerdict>> rows;  // per port and row of the table; none where rows are unknown
  NodeValues values;                          // what a hostNetwork pod gets
};

// No table is too old here: people look at the file that they have.
TableView view_table(const NodeFabric& table, const NcclPolicy& policy, Timestamp now);

nlohmann::ordered_json to_json(const TableView& view);
std::string render_text(const TableView& view);

}  // namespace nccl_env::program
