// SPDX-License-Identifier: Apache-2.0
// Values of a pod at container start, decided inside it: the third moment beside CREATE and Binding. The
// rules are those of plan.h and node_values.h, over a table of what the pod's own namespace shows.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/timestamp.h"

namespace nccl_env {

struct Resolution {
  std::map<std::string, std::string, std::less<>> values;  // the lines of nccl.conf
  std::vector<Omission> omitted;
  bool complete = true;  // nothing is left out for a reason of the node
};

// `table` holds what the pod sees: its devices, the rows of its addresses, all its interfaces.
// `host_network`: the node's own network, where the policy's socketInterface FromNode and expectPorts have a
// meaning. The
// policy's constants are among the values where it delivers by file; else they are in the pod's env. `given`:
// what differs from node to node, as the Binding brought it (texts_of_node); nothing of it is looked for
// here.
Resolution resolve_in_pod(const NcclPolicy& policy, const NodeFabric& table, bool host_network, Timestamp now,
                          const ConstantMap& given = {});

// For people: a line for each value and each omission; printable ASCII.
std::string render_text(const Resolution& resolution);

}  // namespace nccl_env
