// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/webhook/binding_cache.h"

namespace nccl_env::app {
namespace {

// A plan is 2-3 KiB, so this is 3 MiB a thread; texts of nccl.conf add about as much. Names come from
// requests: there is no end to them.
constexpr std::size_t kMaxEntries = 1024;

bool expired(const NodeValues& values, Timestamp now) {
  return values.valid_until && now >= *values.valid_until;
}

}  // namespace

// A clock that was set back can bring a stale table back to life.
bool BindingCache::holds(const Entry& entry, const NcclPolicy& policy, const NodeFabric* table,
                         const NodeContext& context) {
  return entry.plan.policy.get() == &policy && entry.table.get() == table &&
         entry.context.max_table_age == context.max_table_age && entry.context.in_sync == context.in_sync &&
         context.now >= entry.context.now && !expired(entry.plan.host, context.now) &&
         !expired(entry.plan.sub_interface, context.now);
}

const BindingPlan& BindingCache::find(std::shared_ptr<const NcclPolicy> policy, std::string_view node,
                                      std::shared_ptr<const NodeFabric> table, const NodeContext& context) {
  auto found = entries_.find(node);
  if (found != entries_.end() && holds(found->second, *policy, table.get(), context))
    return found->second.plan;
  if (found == entries_.end()) {
    if (entries_.size() >= kMaxEntries) entries_.clear();
    found = entries_.try_emplace(std::string(node)).first;
  }
  found->second = {plan_binding(std::move(policy), node, table.get(), context), table, context};
  return found->second.plan;
}

}  // namespace nccl_env::app
