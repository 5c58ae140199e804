// SPDX-License-Identifier: Apache-2.0
// Variables that a policy wants for every container of a pod, before its own env is looked at.
#pragma once

#include <string_view>
#include <vector>

#include "nccl_env/core/decide/value.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

// The finder of what a node has: its table at Binding, or the pod itself before its containers start.
enum class Finder { Node, Pod };

// As in PodMatch: why the pod's rails are not known, and that it has none.
struct Rails {
  std::string_view unknown;
  bool none = false;
};

// In the order in which the variables are written: HCA, GID group, partition, socket interface, constants by
// name. What the policy leaves out here is LeftOut.
std::vector<Value> make_wishes(const NcclPolicy& policy, Exposure exposure, bool host_network, Finder finder,
                               const Rails& rails = {});

// Leaves out what comes by EnvFile alone, where that is not used: an engine without a file takes nothing else
// of a node.
void leave_out_engines(const NcclPolicy& policy, std::vector<Value>& wishes);

// Why a pod with a network of its own does not get the node's socket interface.
inline constexpr std::string_view kForHostNetwork =
    "The node's interface is for hostNetwork pods, and this pod has a network of its own.";

// True for what is only right beside the list that it was found for: an index, and every value of the GID
// group that a node gives. A constant address family or range is the same for the whole fabric.
bool goes_with_list(std::string_view variable, bool constant);

// True for the variables that decide NCCL's GID: if the user sets one of them, we set none.
bool in_gid_group(std::string_view variable);

}  // namespace nccl_env
