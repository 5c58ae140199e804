// SPDX-License-Identifier: Apache-2.0
// Which ports of a group carry the node's own traffic: a management NIC is
// often of the fabric's kind.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "nccl_env/core/fabric/interface_index.h"

namespace nccl_env {

struct OwnTraffic {
  std::set<const Port*> ports;  // on the node interface, and not of the fabric
  std::string problem;          // one sentence without its full stop, where that cannot be told
};

// Of an Ethernet group; `without_row` are the ports that could not serve in any
// case. Of fewer than three ports none is told apart, and neither is a port of
// a group of which the node interface is no part.
OwnTraffic find_own_traffic(const NodeFabric& table, const InterfaceIndex& interfaces,
                            const std::vector<const Port*>& group, const std::set<const Port*>& without_row);

}  // namespace nccl_env
