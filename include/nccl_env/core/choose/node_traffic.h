// SPDX-License-Identifier: Apache-2.0
// Finds the ports of a group that carry the node's own traffic: a management NIC is often of the fabric's
// kind.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "nccl_env/core/fabric/interface_index.h"

namespace nccl_env {

// Rails come in powers of two.
bool is_usual_count(std::size_t count);

// The node's own interface, beside the ports of its table.
class NodeInterface {
 public:
  // Keeps references: both outlive it.
  NodeInterface(const NodeFabric& table, const InterfaceIndex& interfaces)
      : table_(table), interfaces_(interfaces) {}

  // Whether the port's netdev is the node interface, or a member of it.
  [[nodiscard]] bool carries(const Port& port) const;
  [[nodiscard]] std::set<const Port*> carried(const std::vector<const Port*>& ports) const;
  // Whether the table is able to answer this for each of the ports.
  [[nodiscard]] bool is_known(const std::vector<const Port*>& ports) const;
  // Precondition: the table knows it.
  [[nodiscard]] const std::string& name() const { return *table_.node_interface; }

 private:
  const NodeFabric& table_;
  const InterfaceIndex& interfaces_;
};

struct OwnTraffic {
  std::set<const Port*> ports;  // on the node interface, and not of the fabric
  std::string problem;          // one sentence without its full stop, where this is not known
};

// Judges an Ethernet group; `without_row` are the ports that could not serve in any case. A single port is
// the fabric whatever it carries; so are two ports if both or neither carry the node's traffic, or if they
// sit on two cards.
OwnTraffic find_own_traffic(const NodeInterface& node, const std::vector<const Port*>& group,
                            const std::set<const Port*>& without_row);

// Returns the fewer of the ports where their IPv4 networks are of two kinds that lie far apart, as those of
// compute and of storage do; none where they are one kind, or as many of each. Ports whose network is not
// known are of neither.
std::set<const Port*> ports_apart(const InterfaceIndex& interfaces, const std::vector<const Port*>& ports);

}  // namespace nccl_env
