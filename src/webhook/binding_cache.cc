// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/webhook/binding_cache.h"

#include <optional>

#include "nccl_env/core/decide/patch.h"

namespace nccl_env::webhook {
namespace {

// A plan is 2-3 KiB, so this is 3 MiB a thread; texts of nccl.conf add about as much. Names come from
// requests, so their number has no bound.
constexpr std::size_t kMaxEntries = 1024;

// Size of a plan's strings and of the containers that hold them. Each value is in the plan, in an annotation
// and in texts.
std::size_t bytes_of(const NodeValues& values) {
  constexpr std::size_t kNode = 128;  // of a map or a list: two short strings and links
  std::size_t bytes = values.node.size() + (values.deny ? values.deny->detail.size() : 0);
  for (const auto& [name, value] : values.set) bytes += kNode + name.size() + value.size();
  for (const auto& [name, why] : values.why) bytes += kNode + name.size() + why.size();
  for (const Value& omission : values.omitted) bytes += kNode + omission.name.size() + omission.detail.size();
  return bytes;
}

std::size_t bytes_of(std::string_view node, const CachedPlan& plan) {
  constexpr std::size_t kEntry = 1024;  // the plan's own members, context and links
  std::size_t bytes = kEntry + node.size() + plan.patch.capacity() + plan.node.capacity() +
                      bytes_of(plan.host) + bytes_of(plan.sub_interface) + bytes_of(plan.pod_owned);
  for (const auto& [key, value] : plan.annotations) bytes += 128 + key.size() + value.size();
  return bytes;
}

bool expired(const NodeValues& values, Timestamp now) {
  return values.valid_until && now >= *values.valid_until;
}

}  // namespace

// Compares the times, too: after a clock was set back, a stale table may count again.
bool BindingCache::holds(const Entry& entry, const NcclPolicy& policy, const PackedTable* table,
                         const NodeContext& context) {
  return entry.plan.policy.get() == &policy && entry.table.get() == table &&
         entry.context.max_table_age == context.max_table_age && entry.context.in_sync == context.in_sync &&
         entry.context.other_boot == context.other_boot &&
         entry.context.policy_changed == context.policy_changed &&
         entry.context.policy_edited == context.policy_edited && context.now >= entry.context.now &&
         !expired(entry.plan.host, context.now) && !expired(entry.plan.sub_interface, context.now);
}

const CachedPlan& BindingCache::find(std::shared_ptr<const NcclPolicy> policy, std::string_view node,
                                     SharedTable table, const NodeContext& context) {
  auto found = entries_.find(node);
  if (found != entries_.end() && holds(found->second, *policy, table.get(), context))
    return found->second.plan;
  const std::optional<NodeFabric> fabric = table ? std::optional(table->unpack()) : std::nullopt;
  Entry entry{{plan_binding(std::move(policy), node, fabric ? &*fabric : nullptr, context), {}, {}},
              0,
              table,
              context};
  entry.plan.patch = encoded_binding_patch(entry.plan);
  entry.plan.node = encoded_node(entry.plan);
  entry.bytes = bytes_of(node, entry.plan);
  if (found != entries_.end()) bytes_ -= found->second.bytes;
  // Drops all plans at once: a real cluster needs this once in thousands of Bindings at most.
  if ((found == entries_.end() && entries_.size() >= kMaxEntries) ||
      bytes_ + entry.bytes > kMaxBindingBytes) {
    entries_.clear();
    bytes_ = 0;
    found = entries_.end();
  }
  if (found == entries_.end()) found = entries_.try_emplace(std::string(node)).first;
  bytes_ += entry.bytes;
  found->second = std::move(entry);
  return found->second.plan;
}

}  // namespace nccl_env::webhook
