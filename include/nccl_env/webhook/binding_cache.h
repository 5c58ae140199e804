// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/node_values.h"
#include "nccl_env/core/fabric/packed_table.h"

namespace nccl_env::webhook {

// The most that the plans of one cache take: those of 1 024 nodes with their nccl.conf, or of fewer nodes if
// constants are long.
inline constexpr std::size_t kMaxBindingBytes = 6u << 20;

struct CachedPlan : BindingPlan {
  std::string patch;  // encoded_binding_patch(): what nearly all Bindings of the node get
  std::string node;   // encoded_node()
};

// Keeps the last plan of each node: what a Binding writes depends on policy, table and time only, and most
// Bindings find all three unchanged. One per thread.
class BindingCache {
 public:
  // Returns plan_binding's answer; the reference holds until the next call.
  const CachedPlan& find(std::shared_ptr<const NcclPolicy> policy, std::string_view node, SharedTable table,
                         const NodeContext& context);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  // The approximate size of all plans that are kept.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    CachedPlan plan;
    std::size_t bytes = 0;
    SharedTable table;  // held, so that no other one gets its address
    NodeContext context;
  };
  static bool holds(const Entry& entry, const NcclPolicy& policy, const PackedTable* table,
                    const NodeContext& context);

  std::map<std::string, Entry, std::less<>> entries_;  // by node
  std::size_t bytes_ = 0;
};

}  // namespace nccl_env::webhook
