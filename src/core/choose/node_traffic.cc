// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/choose/node_traffic.h"

#include <algorithm>
#include <iterator>

#include "choose/group.h"
#include "nccl_env/core/choose/card.h"
#include "nccl_env/core/fabric/port_facts.h"

namespace nccl_env {

bool is_usual_count(std::size_t count) {
  return count >= 1 && (count & (count - 1)) == 0;
}

bool NodeInterface::carries(const Port& port) const {
  if (!table_.node_interface) return false;
  const std::string_view own = *table_.node_interface;
  // Whoever names a VLAN "eth0.10" means that it lies above eth0; its traffic is in eth0's port, too.
  const std::string_view below = own.substr(0, own.rfind('.'));
  const auto is_own = [&](std::string_view name) { return name == own || name == below; };
  const auto netdevs = netdevs_of(port);
  return std::any_of(netdevs.begin(), netdevs.end(), [&](std::string_view netdev) {
    constexpr int kMostMasters = 4;  // a bridge's port is a bond, whose member is the port's
    for (int i = 0; i < kMostMasters && !netdev.empty(); ++i) {
      if (is_own(netdev)) return true;
      const Interface* interface = interfaces_.find(netdev);
      netdev = interface && interface->master ? std::string_view(*interface->master) : std::string_view();
    }
    return false;
  });
}

std::set<const Port*> NodeInterface::carried(const std::vector<const Port*>& ports) const {
  std::set<const Port*> found;
  std::copy_if(ports.begin(), ports.end(), std::inserter(found, found.end()),
               [this](const Port* port) { return carries(*port); });
  return found;
}

bool NodeInterface::is_known(const std::vector<const Port*>& ports) const {
  if (!table_.node_interface) return false;
  // One that no look has seen may be a bridge above a port, unless its name is one that hardware gets; and a
  // datapath of Open vSwitch has several bridges.
  const std::string_view own = *table_.node_interface;
  const bool told = interfaces_.find(own) || own.starts_with("en") || own.starts_with("eth");
  return told && std::none_of(ports.begin(), ports.end(), [this](const Port* port) {
           const auto netdevs = netdevs_of(*port);
           const bool is_up = port->state.value_or(PortState::Active) == PortState::Active;
           return (netdevs.empty() && is_up) ||
                  std::any_of(netdevs.begin(), netdevs.end(), [this](std::string_view netdev) {
                    const Interface* interface = interfaces_.find(netdev);
                    return interface && interface->master == "ovs-system";
                  });
         });
}

namespace {

using Ports = std::vector<const Port*>;

std::string alike(const Ports& group, const std::set<const Port*>& without_row) {
  Ports lost;
  std::copy_if(group.begin(), group.end(), std::back_inserter(lost),
               [&](const Port* port) { return without_row.contains(port); });
  std::string text = std::to_string(group.size()) + " ports look alike";
  if (!lost.empty()) text += " (without a usable RoCE v2 row: " + names_of(lost) + ")";
  return text;
}

std::string carried_text(const NodeInterface& node, std::size_t count) {
  return std::to_string(count) + " of them " + (count == 1 ? "carries" : "carry") + " the node interface " +
         node.name();
}

}  // namespace

OwnTraffic find_own_traffic(const NodeInterface& node, const Ports& group,
                            const std::set<const Port*>& without_row) {
  const std::set<const Port*> own = node.carried(group);
  if (group.size() == 1 || (group.size() == 2 && own.size() != 1)) return {};
  if (group.size() == 2) {
    if (are_on_one_card(*group[0], *group[1]) == false) return {};
    return {{},
            alike(group, without_row) + ", and " + carried_text(node, 1) +
                "; whether the other is a rail beside it is not known"};
  }
  const auto leaves_rails = [](std::size_t count) { return count >= 2 && is_usual_count(count); };
  if (!own.empty() && leaves_rails(group.size() - own.size())) return {own, {}};

  Ports serving;
  std::copy_if(group.begin(), group.end(), std::back_inserter(serving),
               [&](const Port* port) { return !without_row.contains(port); });
  if (serving.empty()) serving = group;  // none serves, but the fabric may still be known
  const std::size_t serving_own = node.carried(serving).size();
  if (serving_own > 0) {
    const std::size_t rest = serving.size() - serving_own;
    if (leaves_rails(rest)) return {own, {}};
    return {{},
            alike(group, without_row) + ", and " + carried_text(node, serving_own) + "; without " +
                (serving_own == 1 ? "it " : "them ") + std::to_string(rest) +
                " would remain, which is not a usual number of rails"};
  }
  if (node.is_known(serving) || leaves_rails(group.size())) return {own, {}};
  // The more ports have gone, the likelier it is that what is left is not the fabric.
  if (leaves_rails(serving.size()) && 2 * serving.size() >= group.size()) return {own, {}};
  return {{}, alike(group, without_row) + ", and which one carries the node's own traffic is not known"};
}

namespace {

// The bits that two networks share at their beginning.
int shared_bits(const Cidr& left, const Cidr& right) {
  int bits = 0;
  while (bits < std::min(left.prefix, right.prefix) && Cidr{left.address, bits + 1}.contains(right.address))
    ++bits;
  return bits;
}

}  // namespace

std::set<const Port*> ports_apart(const InterfaceIndex& interfaces, const Ports& ports) {
  // Rails have a network each, numbered one by one, mostly in one octet.
  constexpr int kFar = 8;
  std::vector<std::pair<Cidr, const Port*>> known;
  for (const Port* port : ports) {
    for (const GidRow& row : port->gids.value_or(std::vector<GidRow>{})) {
      const auto network = judge_row(interfaces, row, {}).usable ? interfaces.network_of(row) : std::nullopt;
      if (!network || !network->address.is_v4()) continue;
      known.emplace_back(*network, port);
      break;
    }
  }
  if (known.size() < 3) return {};
  std::sort(known.begin(), known.end());
  const auto bits = [&](std::size_t from, std::size_t to) {
    return shared_bits(known[from].first, known[to].first);
  };
  const std::size_t last = known.size() - 1;
  std::size_t split = 1;  // where the first bit differs that not all share
  while (split < last && bits(split - 1, split) > bits(0, last)) ++split;
  if (std::min(bits(0, split - 1), bits(split, last)) - bits(0, last) < kFar) return {};
  std::set<const Port*> below, above;
  for (std::size_t i = 0; i <= last; ++i) (i < split ? below : above).insert(known[i].second);
  if (below.size() == above.size()) return {};  // two planes
  return below.size() < above.size() ? below : above;
}

}  // namespace nccl_env
