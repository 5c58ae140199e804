// SPDX-License-Identifier: Apache-2.0
// A value that a pod was given, compared with what its node gives today.
#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/decide/node_values.h"
#include "nccl_env/core/decide/value.h"

namespace nccl_env {

// Returns what a node with these values gives for a variable that a policy wants.
Value held_value(const Value& wish, const NodeValues& values);

// A value, and what it was before.
struct Change {
  std::vector<std::string> places;  // with the same change, in order
  std::optional<std::string> then;
  Value now;  // without a text it has a reason, if that is known

  auto operator<=>(const Change&) const = default;
};
// {"name", "then", "now", "reason"}.
nlohmann::ordered_json to_json(const Change& change);
// "NCCL_IB_TIMEOUT (none then, 22 today)", "NCCL_IB_HCA (- mlx5_4, none today: TooFewPorts)".
std::string change_text(const Change& change);
// Returns the remedy of changes: where the node gives a value no more, the remedy is that of the reason.
std::string remedy_of_changes(const std::vector<Change>& changes);

}  // namespace nccl_env
