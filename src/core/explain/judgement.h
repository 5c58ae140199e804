// SPDX-License-Identifier: Apache-2.0
// Judges the values that a container has: by what NCCL makes of them on the node, and by themselves.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/decide/value.h"
#include "nccl_env/core/engines/nccl/select.h"
#include "nccl_env/core/explain/engine_choices.h"
#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/findings/finding.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/text/columns.h"

namespace nccl_env {

// Returns a finding for each fault of NCCL's choice with the container's variables, `env`.
std::vector<Finding> judge_selection(const NcclSelection& with_us, const NcclEnv& env, const Subject& of);

// Tells why no port is left: the user's own list, else why the node gives none (`omission`, null where it
// gives one).
void tell_fallback(bool own_list, const Value* omission, std::vector<Finding>& findings);

// Adds RailDown for ports of the node's fabric that are not in the list which the node gives: a warning where
// such a port is down, unless nobody saw it up and the list has a number of ports that may be meant; not
// beside another RailDown. Adds RateLow for ports of the list that were faster before.
void judge_list_ports(const NodeFabric& table, const NcclPolicy& policy, Exposure exposure, Timestamp now,
                      const Subject& of, std::vector<Finding>& into);

// Where the node has no port for a list (NoFabricPort): tells, in the findings that say so, of cards that are
// missing, of a fabric that is down, and of HCAs that NCCL takes instead (`taken`, null where not known).
void tell_no_port(const NodeFabric& table, const NcclPolicy& policy, Exposure exposure, Timestamp now,
                  const NcclSelection* taken, std::vector<Finding>& findings);

// Adds NoList for a container that gets no NCCL_IB_HCA, for this reason; `has_devices`: it may open some.
void add_no_list(std::string_view reason, std::string_view detail, std::string_view remedy, bool has_devices,
                 const Subject& of, std::vector<Finding>& into);

// Adds NoInterface for a container that gets no NCCL_SOCKET_IFNAME, if the reason is that the node lacks it.
void add_no_interface(std::string_view reason, std::string_view detail, const Subject& of,
                      std::vector<Finding>& into);

// Finds a container's value by its name; null for none.
using FindGiven = std::function<const Value*(std::string_view name)>;
// Adds FellBack where a constant of the policy turns off the network for which it gives the list.
void add_turned_off(const FindGiven& given, const Subject& of, std::vector<Finding>& into);

// Adds UserListShort where a container's own variable turns off the network whose devices the pod has.
void add_users_off(const NcclEnv& own, const Subject& of, std::vector<Finding>& into);
// Adds ValueMisread for a host's ID that a template gives to all of its pods.
void add_host_id(const NcclEnv& own, const Subject& of, std::vector<Finding>& into);

// The table as it counts once it is too old: rows and devices stay what they were, states do not.
NodeFabric without_states(NodeFabric table);

// True if a pod gets nothing, for this reason, and nobody has chosen that: a mistake in the pod or in its
// namespace's policy, or a pod that asks for RDMA and is beyond a limit.
bool is_mistake(Reason reason, const Pod& pod);

// Adds findings for lists, but NCCL_IB_HCA, that name what the node does not have.
void judge_lists(const NodeFabric& seen, const NcclEnv& own, const Subject& of, std::vector<Finding>& into);

// For findings on a value that the policy sets for all pods: names the policy's field.
std::string policys_remedy(std::string_view variable);

// Adds DeviceNotOpened for a pod whose containers `ours` (per Pod::containers) may open no RDMA device.
void add_device_problem(const Pod& pod, const std::vector<bool>& ours, const Subject& of,
                        std::vector<Finding>& into);

// Adds what is wrong with a variable of the container's own, if that is certain without its node.
void judge_setting(std::string_view name, std::string_view value, const Subject& of,
                   std::vector<Finding>& into);
// Likewise for a constant of the policy's.
void judge_policys_setting(std::string_view name, std::string_view value, const Subject& of,
                           std::vector<Finding>& into);

// Adds UserListShort if NCCL takes fewer HCAs than the node's list names, by a list of the user's own that
// names none besides, and no fault of it says why; likewise for the devices of other engines.
void add_short_list(const NcclSelection& with_us, std::string_view own, std::string_view of_node,
                    const Subject& of, std::vector<Finding>& into);
// Adds UserListShort where a variable of the user's own (`why`, a sentence) costs the container the node's
// list, and NCCL takes other HCAs than that names; not beside a finding that is worse than an info.
void add_lost_list(const NcclSelection& with_us, std::string_view of_node, std::string_view why,
                   const Subject& of, std::vector<Finding>& into);
void add_short_lists(const std::vector<EngineChoices>& engines, const Subject& of,
                     std::vector<Finding>& into);

// The findings of a pod's container by its name.
struct ContainerFindings {
  std::string name;
  std::vector<Finding> findings;
};
// Adds the findings of all of a pod's containers; those that not all have begin with the container's name.
void add_by_container(const std::vector<ContainerFindings>& containers, std::vector<Finding>& into);

// The worst first; what two containers share stands once.
void sort_findings(std::vector<Finding>& findings);
// Adds rows for the findings other than that of the answer's sentence, each with its remedy; an info, on
// which nothing has to be done, is one row that names its code.
void add_further(const std::vector<Finding>& findings, std::string_view answer, TextColumns& columns);

// The remedy with the pod's name, and the job's if it has one, in place of NAME in its commands.
std::string with_names(std::string_view remedy, std::string_view pod, std::string_view job = {});

// "without mlx5_4; with mlx5_9": how the second list differs from the first.
std::string list_difference(const std::vector<std::string>& from, const std::vector<std::string>& to);

// True if `fewer` has not as many names as `more`, and lacks one of a kind that it has: rail-1 beside rail-0.
bool lacks_kin(const std::vector<std::string>& fewer, const std::vector<std::string>& more);

// The sentence as it follows on "but": "The pod …" -> "the pod …".
std::string continued(std::string sentence);

}  // namespace nccl_env
