// SPDX-License-Identifier: Apache-2.0
// The nodes or pods that change; those with the same changes form one group.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "nccl_env/core/explain/held_values.h"

namespace nccl_env {

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
