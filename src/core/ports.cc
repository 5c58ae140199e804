// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/ports.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

#include "fabric_group.h"
#include "hca_name.h"

namespace nccl_env {
namespace {

bool any_glob(const std::vector<std::string>& globs, std::string_view text) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return glob_matches(glob, text); });
}

bool in_subnets(const std::vector<Cidr>& subnets, const IpAddress& address) {
  return std::any_of(subnets.begin(), subnets.end(),
                     [&](const Cidr& subnet) { return subnet.contains(address); });
}

// Whether the policy names this port: known to match every condition that is given.
bool is_named(const Port& port, const FabricRule& rule) {
  if (!rule.names_ports()) return false;
  if (!rule.hcas.empty() && !any_glob(rule.hcas, port.hca)) return false;
  if (!rule.netdevs.empty()) {
    const auto netdevs = netdevs_of(port);
    const auto matches = [&](std::string_view netdev) { return any_glob(rule.netdevs, netdev); };
    if (!std::any_of(netdevs.begin(), netdevs.end(), matches)) return false;
  }
  if (rule.subnets.empty()) return true;
  if (!port.gids) return false;
  return std::any_of(port.gids->begin(), port.gids->end(), [&](const GidRow& row) {
    return in_subnets(rule.subnets, row.address.value_or(row.gid.address()));
  });
}

std::string when(const std::optional<Timestamp>& since) {
  return since ? "since " + format_timestamp(*since) : std::string("since when is not known");
}

// The steps of one choice. A port that is dropped keeps the first reason why.
class PortFilter {
 public:
  PortFilter(const NodeFabric& table, const FabricRule& rule, Exposure exposure, Timestamp now)
      : table_(table), rule_(rule), exposure_(exposure), now_(now) {
    for (const Port& port : table.ports) choice_.verdicts.push_back({&port, true, "fabric"});
  }

  PortChoice run() {
    drop_unfit();
    drop_virtual_and_lag_parts();
    apply_filters();
    if (rule_.names_ports()) {
      drop_unnamed();
    } else if (!left().empty() && !infer()) {
      return std::move(choice_);
    }
    finish();
    return std::move(choice_);
  }

 private:
  template <class Why>
  void drop(Why&& why) {
    for (PortVerdict& verdict : choice_.verdicts) {
      if (!verdict.fabric) continue;
      if (std::string text = why(*verdict.port); !text.empty()) {
        verdict.fabric = false;
        verdict.why = std::move(text);
      }
    }
  }

  [[nodiscard]] std::vector<const Port*> left() const {
    std::vector<const Port*> ports;
    for (const PortVerdict& verdict : choice_.verdicts) {
      if (verdict.fabric) ports.push_back(verdict.port);
    }
    return ports;
  }

  bool fail(Reason reason, std::string detail) {
    choice_.reason = reason;
    choice_.detail = std::move(detail);
    return false;
  }

  std::string unfit(const Port& port) {
    if (port.link_layer == LinkLayer::Unspecified) return "its link layer is neither Ethernet nor InfiniBand";
    if (is_soft_device(port.hca, port.driver.value_or("")) && !is_named(port, rule_)) {
      return "a soft device, and no policy names it";
    }
    if (port.state && *port.state != PortState::Active) {
      if (!port.state_since || now_ - *port.state_since >= kPortDownGrace) {
        return std::string(to_string(*port.state)) + ", " + when(port.state_since);
      }
      const Timestamp end = *port.state_since + kPortDownGrace;
      choice_.valid_until = std::min(choice_.valid_until.value_or(end), end);
    }
    if (exposure_ == Exposure::Host && is_roce(port) && port.gids) return unusable_rows(port);
    return {};
  }

  [[nodiscard]] std::string unusable_rows(const Port& port) const {
    for (const GidRow& row : *port.gids) {
      const RowVerdict verdict = judge_row(table_, row, rule_.subnets);
      if (verdict.usable || !verdict.known) return {};
    }
    return "it has no usable RoCE v2 row";
  }

  void drop_unfit() {
    drop([this](const Port& port) { return unfit(port); });
  }

  void drop_virtual_and_lag_parts() {
    const auto survivors = left();
    drop([&](const Port& port) -> std::string {
      for (const Port* other : survivors) {
        if (!port.pf_pci_address.value_or("").empty() && other->pci_address == port.pf_pci_address) {
          return "a VF of " + other->hca;
        }
        if (other != &port && is_part_of(port, other->lag.value_or("")))
          return "a part of the LAG " + other->hca;
      }
      return {};
    });
  }

  [[nodiscard]] bool is_part_of(const Port& port, std::string_view bond) const {
    if (bond.empty() || !port.lag.value_or("").empty()) return false;
    for (const std::string_view netdev : netdevs_of(port)) {
      const Interface* interface = table_.find_interface(netdev);
      if (interface && interface->master == bond) return true;
    }
    return false;
  }

  void apply_filters() {
    drop([this](const Port& port) -> std::string {
      const auto link_layer = link_layer_of(port);
      if (rule_.link_layer && link_layer && *link_layer != *rule_.link_layer) {
        return "the policy wants link layer " + std::string(to_string(*rule_.link_layer));
      }
      if (any_glob(rule_.exclude_hcas, port.hca)) return "the policy excludes it";
      if (rule_.min_rate_gbps && rate_of(port).value_or(*rule_.min_rate_gbps) < *rule_.min_rate_gbps) {
        return "slower than the policy's minimum rate";
      }
      return {};
    });
  }

  void drop_unnamed() {
    drop([this](const Port& port) -> std::string {
      return is_named(port, rule_) ? "" : "not known to match what the policy names";
    });
  }

  bool infer() {
    GroupChoice group = choose_group(left());
    if (!group.problem.empty())
      return fail(Reason::AmbiguousFabric, table_.name + ": " + group.problem + ".");
    const std::set<const Port*> winners(group.ports.begin(), group.ports.end());
    drop([&](const Port& port) {
      return winners.contains(&port) ? std::string() : "outweighed by " + group.winner;
    });
    return link_layer_of(*group.ports.front()) != LinkLayer::Ethernet || group.ports.size() < 3 ||
           drop_node_interface(group.ports.size());
  }

  enum class OnInterface { Yes, No, Unknown };
  [[nodiscard]] OnInterface on_node_interface(const Port& port) const {
    const auto netdevs = netdevs_of(port);
    for (const std::string_view netdev : netdevs) {
      if (netdev == *table_.node_interface) return OnInterface::Yes;
      const Interface* interface = table_.find_interface(netdev);
      if (interface && interface->master == *table_.node_interface) return OnInterface::Yes;
    }
    return netdevs.empty() ? OnInterface::Unknown : OnInterface::No;
  }

  // The NIC that carries the node's own traffic is often of the fabric's kind. Rails come in powers of two.
  bool drop_node_interface(std::size_t count) {
    const auto is_power_of_two = [](std::size_t n) { return n >= 2 && (n & (n - 1)) == 0; };
    std::size_t on = 0;
    bool unknown = !table_.node_interface;
    for (const Port* port : left()) {
      const OnInterface where = unknown ? OnInterface::Unknown : on_node_interface(*port);
      on += where == OnInterface::Yes ? 1 : 0;
      unknown = unknown || where == OnInterface::Unknown;
    }
    if (on == 0) {
      if (!unknown || is_power_of_two(count)) return true;
      return fail(Reason::AmbiguousFabric,
                  table_.name + ": " + std::to_string(count) +
                      " ports look alike, and which one carries the node's own traffic is not known.");
    }
    if (!is_power_of_two(count - on)) {
      return fail(Reason::AmbiguousFabric, table_.name + ": of " + std::to_string(count) +
                                               " ports that look alike " + std::to_string(on) +
                                               " carry the node interface " + *table_.node_interface +
                                               "; without them " + std::to_string(count - on) +
                                               " would remain, which is no usual number of rails.");
    }
    drop([this](const Port& port) {
      return on_node_interface(port) == OnInterface::Yes ? "on the node interface " + *table_.node_interface
                                                         : std::string();
    });
    return true;
  }

  void finish() {
    std::vector<const Port*> ports = left();
    if (ports.empty()) {
      fail(Reason::NoFabricPort,
           table_.name + ": none of " + std::to_string(table_.ports.size()) + " ports is left as fabric.");
      return;
    }
    std::set<LinkLayer> layers;
    for (const Port* port : ports) {
      if (const auto layer = link_layer_of(*port)) layers.insert(*layer);
    }
    if (layers.size() > 1) {
      fail(Reason::MixedLinkLayers,
           table_.name + ": the selected ports are partly InfiniBand and partly Ethernet.");
    } else if (ports.size() > kMaxHcas) {
      fail(Reason::TooManyHcas, table_.name + ": " + std::to_string(ports.size()) +
                                    " ports are selected; NCCL uses 32 and ignores the rest.");
    } else if (rule_.expect_ports && ports.size() < static_cast<std::size_t>(*rule_.expect_ports)) {
      fail(Reason::TooFewPorts, table_.name + ": " + std::to_string(ports.size()) +
                                    " fabric ports, the policy expects " +
                                    std::to_string(*rule_.expect_ports) + ".");
    } else {
      choice_.ports = std::move(ports);
      sort_for_output();
    }
  }

  using PciOrder = std::tuple<unsigned, unsigned, unsigned, unsigned>;

  static std::optional<PciOrder> pci_order(const Port& port) {
    if (!port.pci_address) return std::nullopt;
    unsigned fields[4] = {};
    const char* at = port.pci_address->data();
    const char* end = at + port.pci_address->size();
    for (unsigned& field : fields) {
      const auto [next, error] = std::from_chars(at, end, field, 16);
      if (error != std::errc()) return std::nullopt;
      at = next == end ? end : next + 1;
    }
    return PciOrder{fields[0], fields[1], fields[2], fields[3]};
  }

  void sort_for_output() {
    auto& ports = choice_.ports;
    const bool by_pci = std::all_of(ports.begin(), ports.end(),
                                    [](const Port* port) { return pci_order(*port).has_value(); });
    std::sort(ports.begin(), ports.end(), [&](const Port* left, const Port* right) {
      if (by_pci && pci_order(*left) != pci_order(*right)) return pci_order(*left) < pci_order(*right);
      if (left->hca != right->hca) return hca_name_less(left->hca, right->hca);
      return left->number < right->number;
    });
  }

  const NodeFabric& table_;
  const FabricRule& rule_;
  const Exposure exposure_;
  const Timestamp now_;
  PortChoice choice_;
};

}  // namespace

PortChoice choose_ports(const NodeFabric& table, const FabricRule& rule, Exposure exposure, Timestamp now) {
  return PortFilter(table, rule, exposure, now).run();
}

std::string format_hca_list(const NodeFabric& table, const std::vector<const Port*>& ports) {
  std::string list = "=";
  for (const Port* port : ports) {
    if (list.size() > 1) list += ',';
    list += port->hca;
    const auto same_device = [&](const Port& other) { return other.hca == port->hca; };
    if (std::count_if(table.ports.begin(), table.ports.end(), same_device) > 1 || port->number != 1) {
      list += ':' + std::to_string(port->number);
    }
  }
  return list;
}

}  // namespace nccl_env
