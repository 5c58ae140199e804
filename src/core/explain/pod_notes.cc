// SPDX-License-Identifier: Apache-2.0
#include "explain/pod_notes.h"

namespace nccl_env {
namespace {

void add_notes_of_binding(const PodRecord& record, const PodSurroundings& around,
                          const std::vector<ValueChange>& changes, std::vector<std::string>& notes) {
  const StatusNote& status = *record.status;
  const NodeNote& bound = *record.bound;
  if (bound.policy != status.policy || bound.generation != status.generation) {
    notes.push_back("At Binding it was policy " + bound.policy + ", generation " +
                    std::to_string(bound.generation) + ": the policy was changed in between.");
  }
  if (!record.node.empty() && bound.node != record.node)
    notes.push_back("The values are those of node " + bound.node + ", and the pod is on " + record.node +
                    ".");
  if (around.table_known && around.table && around.table->time && !bound.table.empty()) {
    const std::string now = format_timestamp(*around.table->time);
    if (now != bound.table && changes.empty() && around.policy)
      notes.push_back("The node's table is of " + now + " today, and gives the same values.");
  }
}

}  // namespace

std::vector<std::string> notes_of(const PodRecord& record, const PodSurroundings& around,
                                  const std::vector<ValueChange>& changes) {
  std::vector<std::string> notes;
  for (const std::string& key : record.unreadable)
    notes.push_back("The annotation " + key + " holds what nccl-env never writes; it is not read.");
  if (record.ending) notes.emplace_back("The pod is being deleted.");
  if (!record.status) {
    if (record.reads_node())
      notes.emplace_back(
          "Containers read annotations of nccl-env: the manifest was copied from another pod.");
    return notes;
  }
  const StatusNote& status = *record.status;
  if (around.namespace_policy && *around.namespace_policy != status.policy) {
    notes.push_back(around.namespace_policy->empty()
                        ? "The namespace is not opted in any more."
                        : "The namespace follows policy " + *around.namespace_policy + " today.");
  }
  if (around.policy_problem) notes.push_back(around.policy_detail);
  if (around.policy && around.policy->name == status.policy &&
      around.policy->generation != status.generation) {
    notes.push_back("Policy " + status.policy + " is at generation " +
                    std::to_string(around.policy->generation) + " today; the pod was created at " +
                    std::to_string(status.generation) + ".");
  }
  // A pod that found its values itself took none from its Binding.
  if (record.bound && !record.starts_itself()) add_notes_of_binding(record, around, changes, notes);
  return notes;
}

}  // namespace nccl_env
