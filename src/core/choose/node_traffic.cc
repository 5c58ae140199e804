// SPDX-License-Identifier: Apache-2.0
#include "choose/node_traffic.h"

#include <algorithm>
#include <iterator>

#include "nccl_env/core/choose/ports.h"

namespace nccl_env {
namespace {

using Ports = std::vector<const Port*>;

// Rails come in powers of two.
bool is_usual(std::size_t count) {
  return count >= 2 && (count & (count - 1)) == 0;
}

class NodeInterface {
 public:
  NodeInterface(const NodeFabric& table, const InterfaceIndex& interfaces)
      : table_(table), interfaces_(interfaces) {}

  [[nodiscard]] bool carries(const Port& port) const {
    if (!table_.node_interface) return false;
    const auto netdevs = netdevs_of(port);
    return std::any_of(netdevs.begin(), netdevs.end(), [this](std::string_view netdev) {
      const Interface* interface = interfaces_.find(netdev);
      return netdev == *table_.node_interface || (interface && interface->master == *table_.node_interface);
    });
  }
  [[nodiscard]] std::set<const Port*> carried(const Ports& ports) const {
    std::set<const Port*> found;
    std::copy_if(ports.begin(), ports.end(), std::inserter(found, found.end()),
                 [this](const Port* port) { return carries(*port); });
    return found;
  }
  // Whether the table tells for each of them.
  [[nodiscard]] bool is_known(const Ports& ports) const {
    return table_.node_interface && std::none_of(ports.begin(), ports.end(),
                                                 [](const Port* port) { return netdevs_of(*port).empty(); });
  }

 private:
  const NodeFabric& table_;
  const InterfaceIndex& interfaces_;
};

std::string alike(const NodeFabric& table, const Ports& group, const std::set<const Port*>& without_row) {
  Ports lost;
  std::copy_if(group.begin(), group.end(), std::back_inserter(lost),
               [&](const Port* port) { return without_row.contains(port); });
  std::string text = std::to_string(group.size()) + " ports look alike";
  if (!lost.empty())
    text += " (without a usable RoCE v2 row: " + format_hca_list(table, lost).substr(1) + ")";
  return text;
}

}  // namespace

OwnTraffic find_own_traffic(const NodeFabric& table, const InterfaceIndex& interfaces, const Ports& group,
                            const std::set<const Port*>& without_row) {
  if (group.size() < 3) return {};
  Ports serving;
  std::copy_if(group.begin(), group.end(), std::back_inserter(serving),
               [&](const Port* port) { return !without_row.contains(port); });
  if (serving.empty()) serving = group;  // nothing serves; what the fabric is may be told all the same

  const NodeInterface node(table, interfaces);
  const std::set<const Port*> own = node.carried(group);
  if (!own.empty() && is_usual(group.size() - own.size())) return {own, {}};
  const std::set<const Port*> serving_own = node.carried(serving);
  if (!serving_own.empty()) {
    const std::size_t rest = serving.size() - serving_own.size();
    if (is_usual(rest)) return {own, {}};
    return {{},
            alike(table, group, without_row) + ", and " + std::to_string(serving_own.size()) +
                " of them carry the node interface " + *table.node_interface + "; without them " +
                std::to_string(rest) + " would remain, which is no usual number of rails"};
  }
  if (node.is_known(serving) || is_usual(group.size())) return {};
  // The more ports have gone, the likelier it is that what is left is not the
  // fabric.
  if (is_usual(serving.size()) && 2 * serving.size() >= group.size()) return {};
  return {{},
          alike(table, group, without_row) + ", and which one carries the node's own traffic is not known"};
}

}  // namespace nccl_env
