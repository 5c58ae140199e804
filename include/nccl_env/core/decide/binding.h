// SPDX-License-Identifier: Apache-2.0
// Annotations that a Binding brings to its pod.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/core/decide/node_values.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/policy/reasons.h"

namespace nccl_env {

// The annotations that a Binding to `node` gets (also a pod created with spec.nodeName): every key that a
// reference of ours can name, so that nothing stays of what stood on the pod before.
struct BindingPlan {
  std::shared_ptr<const NcclPolicy> policy;  // null: no policy gives values
  NodeValues host;
  NodeValues sub_interface;
  // The constants that differ from node to node, which the two above have as well. NCCL_SOCKET_IFNAME is that
  // of pods with a network of their own here, and that of hostNetwork pods there.
  NodeValues pod_owned;
  std::map<std::string, std::string, std::less<>> annotations;  // key -> value
};
BindingPlan plan_binding(std::shared_ptr<const NcclPolicy> policy, std::string_view node,
                         const NodeFabric* table, const NodeContext& context);
// For a pod that waits for values where no policy gives them, for `reason`: no key has a value.
BindingPlan plan_empty_binding(std::string_view node, Reason reason);

// Kubernetes does not check a Binding's annotations, and a pod with more than 256 KiB of them can never be
// updated again: false if ours would not fit beside those that the Binding carries.
bool within_budget(const Binding& binding, const BindingPlan& plan);

// Whether a pod consumes node values of ours, by fieldRefs or by file, and of which exposure (PodOwned:
// constants alone): looked at only before a Deny.
std::optional<Exposure> consumed_exposure(const Pod& pod);
// Why this node is refused to a pod that consumes its values so; none where it gives them.
const NodeValues& values_of(const BindingPlan& plan, Exposure exposure);
// The values of a pod of that exposure, with the socket interface of its network.
NodeValues values_for(const BindingPlan& plan, Exposure exposure, bool host_network);
// Whether it reads any annotation that a Binding writes; texts that hold a policy's constants count.
bool waits_for_binding(const Pod& pod);
// The policy by which the pod was injected, as its status names it; "" if it names none.
std::string policy_of_status(const Pod& pod);

}  // namespace nccl_env
