// SPDX-License-Identifier: Apache-2.0
#include "choose/nominal_rates.h"

#include <algorithm>

#include "nccl_env/core/fabric/port_facts.h"

namespace nccl_env {

std::optional<double> own_rate(const Port& port) {
  const auto now = rate_of(port);
  if (!now || !port.max_rate_gbps) return now ? now : port.max_rate_gbps;
  return std::max(*now, *port.max_rate_gbps);
}

NominalRates::NominalRates(const NodeFabric& table) {
  for (const Port& port : table.ports) {
    const auto rate = own_rate(port);
    if (!rate) continue;
    highest_ = std::max(highest_.value_or(0), *rate);
    if (!port.board_id) continue;
    double& of_board = by_board_[*port.board_id];
    of_board = std::max(of_board, *rate);
  }
}

std::optional<double> NominalRates::of(const Port& port) const {
  if (const auto own = own_rate(port)) return own;
  const auto board = port.board_id ? by_board_.find(*port.board_id) : by_board_.end();
  return board == by_board_.end() ? std::nullopt : std::optional(board->second);
}

}  // namespace nccl_env
