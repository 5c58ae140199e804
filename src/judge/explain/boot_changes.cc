// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/explain/boot_changes.h"

#include <vector>

#include "explain/pod_changes.h"
#include "nccl_env/core/decide/binding.h"

namespace nccl_env {

std::string changed_over_boot(const PodRecord& record, const PodSurroundings& around) {
  if (!is_kept_over_boot(record, around.table.get()) || !record.status || !around.policy) return {};
  const BindingPlan plan = plan_binding(around.policy, record.node, around.table.get(), around.context);
  std::vector<Change> changes = changes_since(record, around, values_today(record, plan));
  std::erase_if(changes, [](const Change& change) { return is_constant(change.now.name); });
  return changes.empty() ? "" : "kept over a boot: " + changes_text(changes);
}

}  // namespace nccl_env
