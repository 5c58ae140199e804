// SPDX-License-Identifier: Apache-2.0
// The values that a pod gets or a node gives, in a form that can be compared with those of another day.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
// Whether two lists of HCAs mean the same ports. With or without '=' a node's own list means exactly these;
// `of_node`: both are such lists.
bool is_same_list(const std::string& one, const std::string& other, bool of_node);
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
// "NCCL_IB_TIMEOUT (none then, 22 today)", "NCCL_IB_HCA (- mlx5_4, none today: TooFewPorts)".
std::string change_text(const Change& change);
// Returns the remedy of changes: where the node gives a value no more, the remedy is that of the reason.
std::string remedy_of_changes(const std::vector<Change>& changes);
std::vector<Change> changes_between(const HeldValues& then, const HeldValues& now);

// Difference: the nodes or pods that change; those with the same changes form one group.

// Nobody reads more groups than these: the rest is counted.
inline constexpr std::size_t kMostGroups = 100;

// Kinds of nodes, as places in a list of kinds. Nodes of one kind are alike for pods.
using NodeKinds = std::vector<std::size_t>;

class Difference {
 public:
  // `noun`: "node" or "pod".
  explicit Difference(std::string noun) : noun_(std::move(noun)) {}

  // Adds a member that was compared. `changes` maps each of its lists of changes to the kinds of node where
  // these changes occur; without kinds they occur on any node. An empty list of changes counts as none.
  void add(const std::string& member, const std::map<std::vector<Change>, NodeKinds>& changes);

  [[nodiscard]] std::size_t compared() const { return compared_; }
  [[nodiscard]] std::size_t changed() const { return changed_; }
  [[nodiscard]] std::string sum() const;  // "12 of 40 nodes"

  // The groups, largest first. `kinds`: the names of the nodes of each kind.
  using Kinds = std::vector<std::vector<std::string>>;
  [[nodiscard]] std::string render_text(const Kinds& kinds = {}) const;
  [[nodiscard]] nlohmann::ordered_json to_json(const Kinds& kinds = {}) const;

 private:
  using Key = std::pair<std::vector<Change>, NodeKinds>;
  using Group = std::pair<const Key, std::vector<std::string>>;
  [[nodiscard]] std::vector<const Group*> largest() const;  // kMostGroups of them

  const std::string noun_;
  std::size_t compared_ = 0;
  std::size_t changed_ = 0;
  std::map<Key, std::vector<std::string>> groups_;
};

}  // namespace nccl_env
