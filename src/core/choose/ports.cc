// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/choose/ports.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "choose/group.h"
#include "choose/nominal_rates.h"
#include "nccl_env/core/choose/fabric_rule.h"
#include "nccl_env/core/choose/node_traffic.h"
#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/ports.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/text/glob.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env {
namespace {

using PciOrder = std::tuple<unsigned, unsigned, unsigned, unsigned>;

std::optional<PciOrder> pci_order(const Port& port) {
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

// Sorts by PCI address where that is known for all, else by name: numbers as numbers, case ignored.
void sort_for_output(std::vector<const Port*>& ports) {
  const bool by_pci =
      std::all_of(ports.begin(), ports.end(), [](const Port* port) { return pci_order(*port).has_value(); });
  std::sort(ports.begin(), ports.end(), [&](const Port* left, const Port* right) {
    if (by_pci && pci_order(*left) != pci_order(*right)) return pci_order(*left) < pci_order(*right);
    if (left->hca != right->hca) return hca_name_less(left->hca, right->hca);
    return left->number < right->number;
  });
}

bool any_glob(const std::vector<std::string>& globs, std::string_view text) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return glob_matches(glob, text); });
}

bool in_subnets(const std::vector<Cidr>& subnets, const IpAddress& address) {
  return std::any_of(subnets.begin(), subnets.end(),
                     [&](const Cidr& subnet) { return subnet.contains(address); });
}

// The field of the rule whose names the port is not known to match; "" where it matches all.
std::string_view unmatched_field(const Port& port, const FabricRule& rule) {
  if (!rule.hcas.empty() && !any_glob(rule.hcas, port.hca)) return "hcas";
  if (!rule.netdevs.empty()) {
    const auto netdevs = netdevs_of(port);
    const auto matches = [&](std::string_view netdev) { return any_glob(rule.netdevs, netdev); };
    if (!std::any_of(netdevs.begin(), netdevs.end(), matches)) return "netdevs";
  }
  const auto is_inside = [&](const GidRow& row) {
    return in_subnets(rule.subnets, row.address.value_or(row.gid.address()));
  };
  if (rule.subnets.empty() || (port.gids && std::any_of(port.gids->begin(), port.gids->end(), is_inside)))
    return {};
  return "subnets";
}

// "no match for hcas (mlx5_*)"; "" for a port that matches.
std::string unmatched_text(const Port& port, const FabricRule& rule) {
  constexpr std::size_t kMostNames = 2;
  const std::string_view field = unmatched_field(port, rule);
  if (field.empty()) return {};
  const bool known = field == "hcas" || (field == "netdevs" && !netdevs_of(port).empty());
  return (known ? "no match for " : "not known to match ") + std::string(field) + " (" +
         (field == "subnets" ? join_some(rule.subnets, kMostNames, format_cidr)
                             : join_some(field == "hcas" ? rule.hcas : rule.netdevs, kMostNames)) +
         ")";
}

// Whether the policy names this port: known to match every condition that is given.
bool is_named(const Port& port, const FabricRule& rule) {
  return rule.names_ports() && unmatched_field(port, rule).empty();
}

bool is_away(const Port& port) {
  return port.unavailable == Unavailable::OtherNamespace;
}

constexpr std::string_view kNoRow = "it has no usable RoCE v2 row";
constexpr std::string_view kNoGid = "it has no GID in this network namespace: its netdev is in another one";
constexpr std::string_view kNoGidHere = "it has no GID, although its netdev is here, as in switchdev mode";

std::string why_without_row(const Port& port) {
  if (!has_no_gid(port)) return std::string(kNoRow);
  return std::string(netdevs_of(port).empty() ? kNoGid : kNoGidHere);
}

bool has_only_v1(const Port* port) {
  const auto is_v1 = [](const GidRow& row) { return row.gid.is_zero() || row.type == GidType::RoCEv1; };
  return port->gids && !port->gids->empty() && std::all_of(port->gids->begin(), port->gids->end(), is_v1);
}

bool has_only_link_local(const Port* port) {
  const auto is_local = [](const GidRow& row) { return row.gid.is_zero() || row.gid.is_link_local(); };
  return port->gids && !port->gids->empty() && std::all_of(port->gids->begin(), port->gids->end(), is_local);
}

std::string when(const std::optional<Timestamp>& since) {
  return since ? "since " + format_timestamp(*since) : std::string("since when is not known");
}

struct Whole {
  const Port* port;
  std::string_view as_what;  // "a VF of "
};

// Finds the whole that a port is a part of: a PF by its PCI address, a LAG by its bond.
class Wholes {
 public:
  Wholes(const std::vector<const Port*>& ports, const InterfaceIndex& interfaces) : interfaces_(interfaces) {
    for (const Port* port : ports) {
      if (port->pci_address) functions_.try_emplace(*port->pci_address, port);
      if (is_lag(*port)) lags_.try_emplace(*port->lag, port);
    }
  }

  // One of each kind at most: several ports of a device are one whole.
  [[nodiscard]] std::vector<Whole> of(const Port& port) const {
    std::vector<Whole> wholes;
    if (const auto pf = functions_.find(port.pf_pci_address.value_or(""));
        pf != functions_.end() && pf->second->pci_address != port.pci_address)
      wholes.push_back({pf->second, "a VF of "});
    if (is_lag(port) || lags_.empty()) return wholes;
    for (const std::string_view netdev : netdevs_of(port)) {
      const Interface* interface = interfaces_.find(netdev);
      const auto lag = interface && interface->master ? lags_.find(*interface->master) : lags_.end();
      if (lag == lags_.end()) continue;
      wholes.push_back({lag->second, "a part of the LAG "});
      break;
    }
    return wholes;
  }

 private:
  static bool is_lag(const Port& port) { return !port.lag.value_or("").empty(); }

  const InterfaceIndex& interfaces_;
  std::unordered_map<std::string_view, const Port*> functions_;
  std::unordered_map<std::string_view, const Port*> lags_;
};

// The steps of one choice. A port that is dropped keeps the first reason why.
class PortFilter {
 public:
  PortFilter(const NodeFabric& table, const FabricRule& rule, Exposure exposure, Timestamp now)
      : table_(table),
        rule_(rule),
        exposure_(exposure),
        now_(now),
        interfaces_(table),
        node_(table, interfaces_),
        rates_(table) {
    for (const Port& port : table.ports)
      choice_.verdicts.push_back({&port, true, false, "fabric", false, false});
  }

  PortChoice run() {
    drop_unfit();
    find_without_row();
    // In a table that a pod made of what it sees, these are ports of the node and of other pods.
    if (exposure_ == Exposure::PodOwned) drop_without_row();
    drop_virtual_and_lag_parts();
    apply_filters();
    bool told = true;
    if (rule_.names_ports()) {
      drop_unnamed();
    } else if (!left().empty()) {
      told = infer();
    }
    if (told) finish();
    drop_idle();
    return std::move(choice_);
  }

 private:
  template <class Why>
  void drop(Why&& why, bool by_policy = false) {
    for (PortVerdict& verdict : choice_.verdicts) {
      if (!verdict.fabric) continue;
      if (std::string text = why(*verdict.port); !text.empty()) {
        verdict.fabric = false;
        verdict.by_policy = by_policy;
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
    if (port.unavailable == Unavailable::NoVerbs)
      return "no program can open it: it has no uverbs device, as others have";
    if (port.link_layer == LinkLayer::Unspecified) return "its link layer is neither Ethernet nor InfiniBand";
    if (is_soft_device(port.hca, port.driver.value_or("")) && !is_named(port, rule_)) {
      return "a soft device, and no policy names it";
    }
    return {};
  }

  // Known not to be Active, for longer than a flap lasts.
  [[nodiscard]] bool is_down(const Port& port) const {
    if (port.state.value_or(PortState::Active) == PortState::Active) return false;
    return !port.state_since || now_ - *port.state_since >= kPortDownGrace;
  }

  // Drops ports that are of no use now: the one step that looks at the state of the fabric's ports.
  void drop_idle() {
    drop([this](const Port& port) -> std::string {
      if (is_away(port)) return "gone from this network namespace: a pod may hold it";
      if (is_down(port)) return std::string(to_string(*port.state)) + ", " + when(port.state_since);
      if (rule_.min_rate_gbps && rate_of(port).value_or(*rule_.min_rate_gbps) < *rule_.min_rate_gbps)
        return "slower than the policy's minimum rate";
      return {};
    });
    drop_without_row();
  }

  // Limits the answer to the time at which the grace of a listed port that is down ends.
  void limit_validity(const std::vector<const Port*>& ports) {
    for (const Port* port : ports) {
      if (port->state.value_or(PortState::Active) == PortState::Active || !port->state_since) continue;
      const Timestamp end = *port->state_since + kPortDownGrace;
      choice_.valid_until = std::min(choice_.valid_until.value_or(end), end);
    }
  }

  void drop_unfit() {
    drop([this](const Port& port) { return unfit(port); });
  }

  // Hardware decides which group of ports is the fabric; state and rows decide which of them are usable. So
  // ports without a usable row take part in the choice and are dropped last.
  void find_without_row() {
    for (const Port* port : left()) {
      if (has_no_gid(*port)) without_row_.insert(port);
      // Behind a sub-interface the pod's own rows serve.
      if (exposure_ == Exposure::SubInterface || !is_roce(*port) || !port->gids) continue;
      const bool serves = std::any_of(port->gids->begin(), port->gids->end(), [this](const GidRow& row) {
        const RowVerdict verdict = judge_row(interfaces_, row, rule_.subnets);
        return verdict.usable || !verdict.known;
      });
      if (!serves) without_row_.insert(port);
    }
  }

  void drop_without_row() {
    drop([this](const Port& port) { return without_row_.contains(&port) ? why_without_row(port) : ""; });
  }

  // Keeps the whole and drops its parts (VFs, members of a LAG), unless only the part has a usable row.
  void drop_virtual_and_lag_parts() {
    const Wholes wholes(left(), interfaces_);
    std::map<const Port*, std::string> dropped;
    for (const Port* port : left()) {
      const bool serves = !without_row_.contains(port);
      for (const Whole& whole : wholes.of(*port)) {
        if (!serves || !without_row_.contains(whole.port)) {
          dropped.try_emplace(port, std::string(whole.as_what) + whole.port->hca);
        } else {
          dropped.try_emplace(whole.port, why_without_row(*whole.port));
        }
      }
    }
    drop([&](const Port& port) {
      const auto found = dropped.find(&port);
      return found == dropped.end() ? std::string() : found->second;
    });
  }

  void apply_filters() {
    drop(
        [this](const Port& port) -> std::string {
          const auto link_layer = link_layer_of(port);
          if (rule_.link_layer && link_layer && *link_layer != *rule_.link_layer) {
            return "the policy wants link layer " + std::string(to_string(*rule_.link_layer));
          }
          if (any_glob(rule_.exclude_hcas, port.hca)) return "the policy excludes it";
          if (rule_.min_rate_gbps && rates_.of(port).value_or(*rule_.min_rate_gbps) < *rule_.min_rate_gbps) {
            return "slower than the policy's minimum rate";
          }
          return {};
        },
        true);
  }

  void drop_unnamed() {
    drop([this](const Port& port) { return unmatched_text(port, rule_); }, true);
  }

  bool infer() {
    GroupChoice group = choose_group(left(), rates_, without_row_, node_.carried(left()));
    if (!group.problem.empty())
      return fail(Reason::AmbiguousFabric, table_.name + ": " + group.problem + ".");
    const std::set<const Port*> winners(group.ports.begin(), group.ports.end());
    const std::string winner = describe_ports(group.ports, group.kind);
    drop([&](const Port& port) {
      return winners.contains(&port) ? std::string() : "outweighed by " + winner;
    });
    kind_ = group.kind;
    const auto link_layer = link_layer_of(*group.ports.front());
    if (link_layer == LinkLayer::InfiniBand && !is_believed(group.ports.size()))
      return fail(
          Reason::AmbiguousFabric,
          table_.name + ": " + winner +
              " look alike, which is not a usual number of InfiniBand rails; some may be for storage.");
    if (link_layer != LinkLayer::Ethernet) return true;
    const OwnTraffic own = find_own_traffic(node_, group.ports, without_row_);
    if (!own.problem.empty()) return fail(Reason::AmbiguousFabric, table_.name + ": " + own.problem + ".");
    drop([&](const Port& port) {
      return own.ports.contains(&port) ? "on the node interface " + *table_.node_interface : std::string();
    });
    return infer_by_networks();
  }

  // Tells compute from storage among an unusual number of RoCE ports, where their networks lie far apart.
  bool infer_by_networks() {
    const std::vector<const Port*> ports = left();
    if (is_believed(ports.size())) return true;
    const std::set<const Port*> apart = ports_apart(interfaces_, ports);
    if (apart.empty()) return true;
    if (rule_.expect_ports && ports.size() - apart.size() == static_cast<std::size_t>(*rule_.expect_ports)) {
      drop([&](const Port& port) {
        return apart.contains(&port) ? "in a network far from those of the ports that the policy expects"
                                     : std::string();
      });
      return true;
    }
    return fail(Reason::AmbiguousFabric,
                table_.name + ": " + std::to_string(ports.size()) + " ports look alike, and " +
                    names_of({apart.begin(), apart.end()}) +
                    (apart.size() == 1 ? " is in a network" : " are in networks") +
                    " far from the others': " + (apart.size() == 1 ? "it" : "they") + " may be for storage.");
  }

  // Mostly their number alone tells rails from ports for storage. A pod may have asked for any number, and
  // of fewer than are expected some are missing.
  [[nodiscard]] bool is_believed(std::size_t count) const {
    return is_usual_count(count) || exposure_ == Exposure::PodOwned ||
           count <= static_cast<std::size_t>(rule_.expect_ports.value_or(0));
  }

  // Why all ports were dropped, if that is one reason: ": the policy excludes it".
  [[nodiscard]] std::string shared_why() const {
    const std::string& why = choice_.verdicts.front().why;
    const bool shared = std::all_of(choice_.verdicts.begin(), choice_.verdicts.end(),
                                    [&](const PortVerdict& verdict) { return verdict.why == why; });
    return shared ? ": " + why : "";
  }

  struct Problem {
    Reason reason;
    std::string text;
  };
  [[nodiscard]] std::optional<Problem> problem_of(const std::vector<const Port*>& ports) const {
    std::set<LinkLayer> layers;
    for (const Port* port : ports) {
      if (const auto layer = link_layer_of(*port)) layers.insert(*layer);
    }
    const std::string count = std::to_string(ports.size());
    const bool exclusive = table_.rdma_namespace_mode == RdmaNamespaceMode::Exclusive;
    if (table_.ports.empty())
      return Problem{Reason::NoFabricPort,
                     std::string("it has no RDMA device") +
                         (exclusive ? " now; in exclusive namespace mode pods may hold all of them" : "")};
    if (ports.empty())
      return Problem{Reason::NoFabricPort, "none of " + std::to_string(table_.ports.size()) +
                                               " ports is left as fabric" + shared_why()};
    if (layers.size() > 1)
      return Problem{Reason::MixedLinkLayers, "the selected ports are partly InfiniBand and partly Ethernet"};
    if (layers.empty() && !rule_.names_ports() && !rule_.link_layer)
      return Problem{Reason::AmbiguousFabric,
                     "the table does not tell whether " + names_of(ports) +
                         (ports.size() == 1 ? " is" : " are") +
                         " InfiniBand or Ethernet, so what NCCL needs there is not known"};
    if (ports.size() > kMaxHcas)
      return Problem{Reason::TooManyHcas, count + " ports are selected; NCCL uses 32 and ignores the rest"};
    if (rule_.expect_ports && ports.size() < static_cast<std::size_t>(*rule_.expect_ports))
      return Problem{Reason::TooFewPorts,
                     count + " fabric ports, the policy expects " + std::to_string(*rule_.expect_ports)};
    return std::nullopt;
  }

  void finish() {
    for (PortVerdict& verdict : choice_.verdicts) {
      verdict.of_fabric = verdict.fabric;
      verdict.rowless = verdict.fabric && without_row_.contains(verdict.port);
    }
    std::vector<const Port*> fabric = left();
    drop_idle();
    std::vector<const Port*> ports = left();
    sort_for_output(fabric);
    sort_for_output(ports);
    const std::optional<Problem> lasting = problem_of(fabric);
    const bool idle_only = !lasting;
    // If all ports of one link layer are down, the ports of the other still do not become the fabric.
    std::optional<Problem> problem =
        lasting && lasting->reason == Reason::MixedLinkLayers ? lasting : problem_of(ports);
    if (problem && idle_only) problem->text = words_of(*problem, fabric);
    if (problem) fail(problem->reason, table_.name + ": " + problem->text + ".");
    const bool few = problem && problem->reason == Reason::TooFewPorts;
    if (!problem || few) limit_validity(ports);
    if (idle_only || !problem) choice_.fabric = idle_only ? fabric : ports;
    if (!problem) {
      choice_.ports = std::move(ports);
    } else if (few && idle_only) {
      choice_.few = std::move(ports);
    }
  }

  [[nodiscard]] std::string names_of_those(const std::vector<const Port*>& ports,
                                           const std::function<bool(const Port&)>& wanted) const {
    std::vector<const Port*> found;
    std::copy_if(ports.begin(), ports.end(), std::back_inserter(found),
                 [&](const Port* port) { return wanted(*port); });
    return format_hca_list(table_, found).substr(1);
  }

  // Words for a problem that the fabric has only because some of its ports are down, slow, or have no row.
  [[nodiscard]] std::string words_of(const Problem& problem, const std::vector<const Port*>& fabric) const {
    const std::string down = names_of_those(fabric, [this](const Port& port) { return is_down(port); });
    const std::string rowless = names_of_those(
        fabric, [this](const Port& port) { return !is_down(port) && without_row_.contains(&port); });
    if (problem.reason == Reason::NoFabricPort) {
      const std::string all = names_of_those(fabric, [](const Port&) { return true; });
      if (down == all)
        return "the fabric (" + std::to_string(fabric.size()) + (kind_.empty() ? " ports" : " x " + kind_) +
               ") is down: " + down;
      const bool gidless =
          std::all_of(fabric.begin(), fabric.end(), [](const Port* port) { return has_no_gid(*port); });
      if (gidless) return "no port of the fabric has a GID in this network namespace (" + rowless + ")";
      const bool local = std::all_of(fabric.begin(), fabric.end(), has_only_link_local);
      const bool v1 = std::all_of(fabric.begin(), fabric.end(), has_only_v1);
      if (rowless == all)
        return "no port of the fabric has a usable RoCE v2 row, " +
               std::string(v1      ? "only RoCE v1 "
                           : local ? "only link-local ones "
                                   : "") +
               "(" + rowless + ")";
    }
    const std::string away = names_of_those(fabric, is_away);
    std::string text = problem.text;
    if (problem.reason == Reason::NoFabricPort) text = "no port of the fabric can be used";
    if (!away.empty()) text += "; in pods' network namespaces: " + away;
    if (!down.empty()) text += "; down: " + down;
    if (!rowless.empty()) text += "; without a usable RoCE v2 row: " + rowless;
    return text;
  }

  const NodeFabric& table_;
  const FabricRule& rule_;
  const Exposure exposure_;
  const Timestamp now_;
  const InterfaceIndex interfaces_;
  const NodeInterface node_;
  const NominalRates rates_;
  std::string kind_;                   // of the group that inference chose
  std::set<const Port*> without_row_;  // RoCE ports whose rows are known, and none of them is usable
  PortChoice choice_;
};

}  // namespace

PortChoice choose_ports(const NodeFabric& table, const FabricRule& rule, Exposure exposure, Timestamp now) {
  return PortFilter(table, rule, exposure, now).run();
}

void settle_for_few(PortChoice& choice, const NcclPolicy& policy) {
  if (choice.few.empty() || policy.on_unresolved != OnUnresolved::Allow) return;
  choice.ports = choice.few;
  choice.reason.reset();
}

PortChoice choose_policy_ports(const NodeFabric& table, const NcclPolicy& policy, Exposure exposure,
                               Timestamp now) {
  const NodeFabricRule found = fabric_rule(policy, table);
  PortChoice choice;
  if (found.rule) {
    choice = choose_ports(table, *found.rule, exposure, now);
    settle_for_few(choice, policy);
    return choice;
  }
  choice.reason = Reason::ConditionUnknown;
  choice.detail = table.name + ": " + found.why + ".";
  for (const Port& port : table.ports)
    choice.verdicts.push_back(
        {&port, false, false, "which ports are meant is not known: " + found.why, false, false});
  return choice;
}

std::string format_hca_list(const NodeFabric& table, const std::vector<const Port*>& ports) {
  std::unordered_map<std::string_view, int> ports_of_device;
  for (const Port& port : table.ports) ++ports_of_device[port.hca];
  std::string list = "=";
  for (const Port* port : ports) {
    if (list.size() > 1) list += ',';
    list += port->hca;
    if (ports_of_device[port->hca] > 1 || port->number != 1) {
      list += ':' + std::to_string(port->number);
    }
  }
  return list;
}

namespace {

// True if the list names by prefix exactly the ports that `is_meant`.
template <class IsMeant>
bool is_exact_by_prefix(const NodeFabric& table, const NcclNameList& list, IsMeant is_meant) {
  return std::all_of(table.ports.begin(), table.ports.end(), [&](const Port& port) {
    const bool is_vf = port.pf_pci_address && !port.pf_pci_address->empty();
    return !is_vf && list.selects(port.hca, port.number) == is_meant(port);
  });
}

NcclNameList read_hca_list(std::string_view text) {
  return parse_nccl_name_list(text, kNewestNccl, nccl_max_hcas(kNewestNccl));
}

std::vector<std::string> sorted_names(const NcclNameList& list) {
  std::vector<std::string> names = list.names();
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::optional<std::string> plain_hca_list(const NodeFabric& table, const std::vector<const Port*>& ports) {
  std::string text = format_hca_list(table, ports).substr(1);
  const bool exact = is_exact_by_prefix(table, read_hca_list(text), [&](const Port& port) {
    return std::find(ports.begin(), ports.end(), &port) != ports.end();
  });
  return exact ? std::optional(std::move(text)) : std::nullopt;
}

bool same_hca_list(std::string_view left, std::string_view right, const NodeFabric& table) {
  if (left == right) return true;
  NcclNameList plain = read_hca_list(left), exact = read_hca_list(right);
  if (plain.exclude != exact.exclude || sorted_names(plain) != sorted_names(exact)) return false;
  if (plain.exact == exact.exact) return true;
  if (plain.exact) std::swap(plain, exact);
  return is_exact_by_prefix(table, plain,
                            [&](const Port& port) { return exact.selects(port.hca, port.number); });
}

}  // namespace nccl_env
