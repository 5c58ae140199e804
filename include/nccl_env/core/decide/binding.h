// SPDX-License-Identifier: Apache-2.0
// Annotations that a Binding brings to its pod.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/decide/node_values.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/policy/reasons.h"

namespace nccl_env {

// Annotations that a Binding to `node` gets, or a pod that is created with spec.nodeName: that of the node,
// and the texts of each shape that the policy's pods can have, so that no older one stays on the pod. A text
// serves every carrier, whichever was chosen when the pod was created.
struct BindingPlan {
  std::shared_ptr<const NcclPolicy> policy;  // null: no policy gives values
  NodeValues host;
  NodeValues sub_interface;
  // The constants that differ from node to node; `host` and `sub_interface` have them as well.
  // NCCL_SOCKET_IFNAME here is that of pods with a network of their own; in those two it is that of
  // hostNetwork pods.
  NodeValues pod_owned;
  std::optional<Value> no_env_file;  // why no process of the node sees what is delivered by EnvFile
  std::map<std::string, std::string, std::less<>> annotations;  // key -> value
};
BindingPlan plan_binding(std::shared_ptr<const NcclPolicy> policy, std::string_view node,
                         const NodeFabric* table, const NodeContext& context);
// Returns the plan for a pod that waits for values which no policy gives, because of `reason`: the texts that
// it reads, or has, become empty. The node annotation gets the reason.
BindingPlan plan_empty_binding(std::string_view node, Reason reason, const Pod& pod);

// The annotations of texts that the pod reads: by its file, or by its init container. They refer to the pod.
// Only a pod that reads one waits for its Binding.
std::vector<std::string_view> texts_read(const Pod& pod);
// True if the plan has each of them.
bool serves(const BindingPlan& plan, const Pod& pod);

// Returns false if our annotations would not fit beside those that the Binding carries. Kubernetes does not
// check a Binding's annotations, and a pod with more than 256 KiB of them can never be updated again.
bool within_budget(const Binding& binding, const BindingPlan& plan);

// True if a variable of the pod comes by EnvFile.
bool reads_env_file(const Pod& pod);
// Returns the exposure whose node values a pod consumes (PodOwned: constants alone); nothing if it consumes
// none. Needed only before a Deny.
std::optional<Exposure> consumed_exposure(const Pod& pod);
// Returns the node's values for pods of that exposure. Their `deny` says why the node is refused to such
// pods.
const NodeValues& values_of(const BindingPlan& plan, Exposure exposure);
// Returns why the node is refused to a pod that consumes values of that exposure (nothing: of none), and by
// EnvFile or not: its policy says onUnresolved: Deny. Null where it is not refused.
const Value* refusal_of(const BindingPlan& plan, std::optional<Exposure> consumed, bool by_env_file);
// True if a pod could get an index, which a pod of other values of its policy must not have.
bool gives_index(const BindingPlan& plan);
// The values of a pod of that exposure, with the socket interface of its network; with `any_list` those that
// are right beside any list of HCAs.
NodeValues values_for(const BindingPlan& plan, Exposure exposure, bool host_network, bool any_list = false);

}  // namespace nccl_env
