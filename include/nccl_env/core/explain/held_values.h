// SPDX-License-Identifier: Apache-2.0
// The values that a pod gets or a node gives, in a form that can be compared with those of another day.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/decide/node_values.h"
#include "nccl_env/core/decide/value.h"
#include "nccl_env/core/explain/preview.h"

namespace nccl_env {

// Returns what a node with these values gives for a variable that a policy wants.
Value held_value(const Value& wish, const NodeValues& values);

struct HeldValues {
  // By place (an exposure, a container) and name. A value has a reason beside "refused", too.
  std::map<std::string, std::map<std::string, Value>> places;
  std::optional<Reason> reason = {};  // why a name that is not among these has no value; absent: not known

  auto operator<=>(const HeldValues&) const = default;
};

// Returns the values that a container without values of its own gets on the node at Binding, by exposure. An
// entry named "Binding" says whether the Binding of a pod that waits for values is refused. `table` may be
// null.
HeldValues offered_values(const std::shared_ptr<const NcclPolicy>& policy, std::string_view node,
                          const NodeFabric* table, const NodeContext& context);
// The values of a pod: by container, and by its /etc/nccl.conf.
HeldValues given_values(const Explanation& explanation);

// A value, and what it was before.
struct Change {
  std::vector<std::string> places;  // with the same change, in order
  std::optional<std::string> then;
  Value now;  // without a text it has a reason, if that is known

  auto operator<=>(const Change&) const = default;
};
// {"name", "then", "now", "reason"}.
nlohmann::ordered_json to_json(const Change& change);
std::vector<Change> changes_between(const HeldValues& then, const HeldValues& now);

}  // namespace nccl_env
