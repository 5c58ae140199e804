// SPDX-License-Identifier: Apache-2.0
// One table with the verdicts on its ports and rows, as `nccl-env nodes NAME` prints them.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <optional>
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

// `max_age`: an older table gives pods nothing. Absent, none is too old: people look at the file that they
// have.
// The policy by which a table is shown where none is given: inference, and the index that serves all ports,
// whether or not NCCL would find the rows by itself.
NcclPolicy policy_of_nobody();

TableView view_table(const NodeFabric& table, const NcclPolicy& policy, Timestamp now,
                     std::optional<std::chrono::seconds> max_age = {});

nlohmann::ordered_json to_json(const TableView& view);
std::string render_text(const TableView& view);

}  // namespace nccl_env::program
