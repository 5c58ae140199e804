// SPDX-License-Identifier: Apache-2.0
// NominalRates: the rate of each port of a table when the port works, whatever its state is now.
#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env {

class NominalRates {
 public:
  // Keeps references into the table, which has to outlive it unchanged.
  explicit NominalRates(const NodeFabric& table);

  // The highest rate in Gb/s that the port is known to have had; else that of its board's other ports.
  [[nodiscard]] std::optional<double> of(const Port& port) const;
  // The highest of all; absent where no rate is known.
  [[nodiscard]] std::optional<double> highest() const { return highest_; }

 private:
  std::map<std::string_view, double> by_board_;
  std::optional<double> highest_;
};

// The highest rate that the port itself is known to have had.
std::optional<double> own_rate(const Port& port);

}  // namespace nccl_env
