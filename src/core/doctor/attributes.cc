// SPDX-License-Identifier: Apache-2.0
// The attributes that ports of one rail, and nodes of one pool, have to share: a row each.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>

#include "doctor/checks.h"
#include "nccl_env/core/choose/fabric_rule.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/text/timestamp.h"

namespace nccl_env::doctor {
namespace {

// Texts are those of the usual value: "Active", "200 Gb/s", "10.1.0.0/16".
struct Attribute {
  double number = 0;
  std::string text;

  auto operator<=>(const Attribute&) const = default;
};

// A port that differs.
struct OddPort {
  const FabricPort& at;
  const Attribute& value;
  const Attribute& usual;
  std::size_t alike;   // ports of the rail with that value
  bool usual_is_most;  // and not only what is right
  const Rail* other;   // on which the value is the usual one; null: none
  const PoolView& pool;
};

// Whom a port is compared with where its rail has no usual value, as in a pool of one or two nodes.
enum class Beside { Nobody, Kind, Pool };

struct PortRow {
  Code code;
  Severity severity;
  std::optional<Attribute> (*of)(const FabricPort&);
  Beside beside = Beside::Pool;
  const char* right = nullptr;  // that value is the usual one, whatever most have; null: what most have
  bool only_less = false;       // more than the others is no fault
  bool ends = false;            // nothing else is told of a port that differs in this
  bool by_itself = false;       // that all ports of a rail differ says no more of each
  // Empty: the value's text; the code's remedy; always the row's severity. No severity: it is no fault.
  std::string (*seen)(const OddPort&) = nullptr;
  std::string (*remedy)(const OddPort&) = nullptr;
  std::optional<Severity> (*judge)(const OddPort&) = nullptr;
};

std::optional<Attribute> number_of(std::optional<double> value, const char* unit) {
  if (!value) return std::nullopt;
  std::ostringstream text;
  text << *value << unit;
  return Attribute{*value, text.str()};
}

std::optional<Attribute> word_of(const std::optional<std::string>& word) {
  return word ? std::optional(Attribute{0, *word}) : std::nullopt;
}

std::optional<Attribute> link_of(const FabricPort& at) {
  const auto layer = link_layer_of(at.port);
  return layer ? std::optional(Attribute{0, std::string(to_string(*layer))}) : std::nullopt;
}

// 1 and 2 are the values of NVIDIA's mlxconfig (Firmware Tools, "Using mlxconfig"), which takes the device's
// name; a card's second port is its second function, or the second port of one. "": another maker's.
std::string set_link_type(const OddPort& odd) {
  const Port& port = odd.at.port;
  if (!port.driver.value_or("").starts_with("mlx")) return {};
  const bool second = port.number == 2 || port.pci_address.value_or("").ends_with(".1");
  return "If the port leads to the same switches as its pool's, set its link type (likewise of each port "
         "that is named), and reboot the node: `mlxconfig -d " +
         port.hca + " set LINK_TYPE_P" + (second ? "2" : "1") + "=" +
         (odd.usual.text == to_string(LinkLayer::InfiniBand) ? "1" : "2") + "` (1: InfiniBand, 2: Ethernet).";
}

// "driver irdma": a bare name would not tell what it is.
template <const char* kWhat>
std::string named_text(const OddPort& odd) {
  return std::string(kWhat) + odd.value.text;
}
constexpr char kLink[] = "link layer ", kDriver[] = "driver ", kBoard[] = "board ";

constexpr const char* kActive = "Active";

std::optional<Attribute> state_of(const FabricPort& at) {
  if (!at.port.state) return std::nullopt;
  return Attribute{0, is_down(at.port) ? "down" : kActive};
}

// False also where it is not known.
bool is_netdev_set_down(const FabricPort& at) {
  return std::ranges::any_of(netdevs_of(at.port), [&](const std::string_view name) {
    const Interface* interface = at.node.interfaces.find(name);
    return interface && interface->up == false;
  });
}

std::string state_text(const OddPort& odd) {
  const Port& port = odd.at.port;
  std::string text(to_string(*port.state));
  if (port.state_since) text += " since " + format_timestamp(*port.state_since);
  return text + (is_netdev_set_down(odd.at) ? ", and its netdev is set down" : "");
}

std::string remedy_for_down(const OddPort& odd) {
  if (is_netdev_set_down(odd.at))
    return "Bring the netdev up (`nccl-env nodes NAME` names it; `ip link set NETDEV up`), and find what set "
           "it down: netplan, a network operator, a person.";
  if (link_layer_of(odd.at.port) == LinkLayer::InfiniBand && odd.at.port.state != PortState::Down)
    return "The link is up, and the port waits for the subnet manager: see that one runs and reaches the "
           "node.";
  return {};
}

std::optional<Attribute> rate_here(const FabricPort& at) {
  return number_of(rate_of(at.port), " Gb/s");
}

constexpr const char* kNoSlower = "no slower than before";

std::optional<Attribute> slowed_of(const FabricPort& at) {
  return Attribute{0, has_slowed(at.port) ? "slower" : kNoSlower};
}

std::string slowed_text(const OddPort& odd) {
  return number_of(odd.at.port.rate_gbps, " Gb/s")->text + ", after " +
         number_of(odd.at.port.max_rate_gbps, " Gb/s")->text + " earlier, since the node booted";
}

std::optional<Attribute> active_mtu(const FabricPort& at) {
  return is_down(at.port) ? std::nullopt : number_of(at.port.active_mtu, " bytes of active MTU");
}

std::optional<Attribute> netdev_mtu(const FabricPort& at) {
  if (is_down(at.port)) return std::nullopt;
  for (const std::string_view netdev : netdevs_of(at.port)) {
    const Interface* interface = at.node.interfaces.find(netdev);
    if (interface && interface->mtu) return number_of(interface->mtu, " bytes of netdev MTU");
  }
  return std::nullopt;
}

// "": the code's.
std::string remedy_for_mtu(const OddPort& odd) {
  if (link_layer_of(odd.at.port) != LinkLayer::InfiniBand) return {};
  return "The subnet manager sets the MTU of an InfiniBand link to what both of its ends can do: compare "
         "MtuCap and NeighborMTU of the port and its switch port with a good one's (`smpquery portinfo LID "
         "PORT`), and the manager's settings; the netdev's MTU (IPoIB) is at most that of its partition less "
         "4.";
}

constexpr const char* kUsableRow = "a usable one";

std::optional<Attribute> row_of(const FabricPort& at) {
  if (!at.rows.known) return std::nullopt;
  return Attribute{0, at.rows.usable.empty() ? "none" : kUsableRow};
}

// True where the policy says that its pods have sub-interfaces, and none the node's own rows.
bool is_of_sub_interfaces(const NcclPolicy& policy) {
  const auto has_exposure = [&](Exposure exposure) {
    return std::ranges::find(policy.resources, exposure, &ResourceMatch::exposure) != policy.resources.end();
  };
  return has_exposure(Exposure::SubInterface) && !has_exposure(Exposure::Host) && !policy.host_devices;
}

// Nodes of pods with sub-interfaces need no address: a port without one is a fault only if most have one, or
// if it has addresses that RoCE v1 alone can use.
std::optional<Severity> judge_no_row(const OddPort& odd) {
  const auto& [node, rail, port, rows] = odd.at;
  if (odd.usual_is_most) return Severity::Error;
  if (node.reason) return std::nullopt;  // NoFabric says so
  if (rows.only_v1 && rows.v1_address) return Severity::Warning;
  return is_of_sub_interfaces(*node.policy) ? std::nullopt : std::optional(Severity::Info);
}

std::string no_row_text(const OddPort& odd) {
  const NodeView& node = odd.at.node;
  std::string text = "no usable RoCE v2 row (" + odd.at.rows.why + ")";
  if (odd.usual_is_most) return text;
  if (node.on_host.empty())
    return text + ", and hostNetwork pods get no HCA list" +
           (node.host_reason ? " (" + std::string(to_string(*node.host_reason)) + ")" : "");
  return text + ", and hostNetwork pods get " + std::to_string(node.on_host.size()) + " of " +
         count_of(static_cast<std::size_t>(odd.pool.expected()), "HCA");
}

// "": the code's.
std::string remedy_for_no_row(const OddPort& odd) {
  if (odd.at.rows.only_v1 && !odd.at.port.gids->empty() && (odd.usual_is_most || odd.at.rows.v1_address))
    return "The port has rows of RoCE v1 alone, as a card or driver without v2 has: compare firmware and "
           "driver with a good node's (ibv_devinfo, modinfo).";
  if (odd.usual_is_most) return {};
  return "Nothing, where pods have sub-interfaces of their own (a policy that says exposure: SubInterface "
         "ends this), or where these ports are for something else; else give their netdevs addresses (DHCP, "
         "netplan, the network operator).";
}

// Rails among themselves may be of one family each: that is a plan.
std::optional<Attribute> family_of(const FabricPort& at) {
  if (at.rows.usable.empty()) return std::nullopt;
  return Attribute{0, at.rows.v4 ? "IPv4" : "IPv6 alone"};
}

// A port with both serves either.
std::optional<Severity> judge_family(const OddPort& odd) {
  return odd.at.rows.v4 && odd.at.rows.v6 ? std::nullopt : std::optional(Severity::Error);
}

std::string family_text(const OddPort& odd) {
  return std::string("has addresses of ") + (odd.at.rows.v4 ? "IPv4" : "IPv6") +
         " alone, by which it does not reach the others";
}

std::string remedy_for_family(const OddPort&) {
  return "Give these netdevs addresses of the family that the other nodes have, or give both to all nodes.";
}

// The row's address, with the prefix by which it is connected.
std::optional<Cidr> address_of(const NodeView& node, const GidRow& row) {
  if (!row.netdev) return std::nullopt;
  const IpAddress wanted = row.address.value_or(row.gid.address());
  const Interface* interface = node.interfaces.find(*row.netdev);
  for (int step = 0; interface && step < 2; ++step) {  // its own, else its master's
    for (const InterfaceAddress& entry : interface->addresses.value_or(std::vector<InterfaceAddress>{})) {
      if (entry.address == wanted) return Cidr{entry.address, entry.prefix};
    }
    interface = interface->master ? node.interfaces.find(*interface->master) : nullptr;
  }
  return std::nullopt;
}

// That of the port's lowest usable row; a row of IPv4 comes before those of IPv6, as for the index.
std::optional<Cidr> address_of(const FabricPort& at) {
  std::optional<Cidr> found;
  for (const GidRow& row : at.rows.usable.empty() ? std::vector<GidRow>() : *at.port.gids) {
    const bool v4 = row.gid.is_v4_mapped();
    if ((found && !v4) || std::ranges::count(at.rows.usable, row.index) == 0) continue;
    const auto address = address_of(at.node, row);
    if (address && v4) return address;
    if (address) found = address;
  }
  return found;
}

// The subnet of the port; of an InfiniBand port that is up its prefix, which the subnet manager gives.
std::optional<Attribute> network_of(const FabricPort& at) {
  std::optional<Cidr> address = address_of(at);
  if (link_layer_of(at.port) == LinkLayer::InfiniBand && !is_down(at.port) && at.port.gids) {
    const auto row = std::ranges::find(*at.port.gids, 0, &GidRow::index);
    if (row != at.port.gids->end() && !row->gid.is_zero()) address = Cidr{row->gid.address(), 64};
  }
  return address ? std::optional(Attribute{0, format_cidr(address->network())}) : std::nullopt;
}

// Several nodes in another subnet are a unit of their own, or another fabric.
std::optional<Severity> judge_network(const OddPort& odd) {
  if (odd.other) return Severity::Error;
  return odd.alike > 1 ? std::nullopt : std::optional(Severity::Warning);
}

std::string network_text(const OddPort& odd) {
  return odd.value.text + (odd.other ? ", the subnet of rail " + odd.other->name : "");
}

// "": the code's.
std::string remedy_for_network(const OddPort& odd) {
  if (link_layer_of(odd.at.port) != LinkLayer::InfiniBand) return {};
  return "See that one subnet manager serves all of these ports (sminfo), and compare the subnet_prefix of "
         "all. If they are two fabrics on purpose, keep each job on one: ports of two prefixes do not reach "
         "each other.";
}

// A port of which a row has told something is not told by a further row of that code: MTUs follow each other,
// and another driver has another board.
const std::array kPortRows{PortRow{.code = Code::HardwareDiffers,
                                   .severity = Severity::Error,
                                   .of = link_of,
                                   .ends = true,
                                   .seen = named_text<kLink>,
                                   .remedy = set_link_type},
                           PortRow{.code = Code::HardwareDiffers,
                                   .severity = Severity::Error,
                                   .of = [](const FabricPort& at) { return word_of(at.port.driver); },
                                   .seen = named_text<kDriver>},
                           PortRow{.code = Code::HardwareDiffers,
                                   .severity = Severity::Warning,
                                   .of = [](const FabricPort& at) { return word_of(at.port.board_id); },
                                   .seen = named_text<kBoard>},
                           PortRow{.code = Code::PortDown,
                                   .severity = Severity::Error,
                                   .of = state_of,
                                   .right = kActive,
                                   .seen = state_text,
                                   .remedy = remedy_for_down},
                           PortRow{.code = Code::RateLow,
                                   .severity = Severity::Warning,
                                   .of = rate_here,
                                   .beside = Beside::Kind,
                                   .only_less = true},
                           PortRow{.code = Code::RateLow,
                                   .severity = Severity::Warning,
                                   .of = slowed_of,
                                   .right = kNoSlower,
                                   .by_itself = true,
                                   .seen = slowed_text},
                           // Queue pairs take the smaller MTU of the two sides, but traffic hangs if the
                           // fabric drops larger packets.
                           PortRow{.code = Code::MtuDiffers,
                                   .severity = Severity::Error,
                                   .of = active_mtu,
                                   .beside = Beside::Kind,
                                   .remedy = remedy_for_mtu},
                           PortRow{.code = Code::MtuDiffers,
                                   .severity = Severity::Warning,
                                   .of = netdev_mtu,
                                   .beside = Beside::Kind,
                                   .remedy = remedy_for_mtu},
                           PortRow{.code = Code::NoAddress,
                                   .severity = Severity::Error,
                                   .of = row_of,
                                   .right = kUsableRow,
                                   .seen = no_row_text,
                                   .remedy = remedy_for_no_row,
                                   .judge = judge_no_row},
                           PortRow{.code = Code::NoAddress,
                                   .severity = Severity::Error,
                                   .of = family_of,
                                   .beside = Beside::Nobody,
                                   .seen = family_text,
                                   .remedy = remedy_for_family,
                                   .judge = judge_family},
                           PortRow{.code = Code::SubnetDiffers,
                                   .severity = Severity::Warning,
                                   .of = network_of,
                                   .beside = Beside::Nobody,
                                   .seen = network_text,
                                   .remedy = remedy_for_network,
                                   .judge = judge_network}};

// Compares the ports of a pool by one row after another.
class PortComparison {
 public:
  explicit PortComparison(Report& report) : report_(report), pool_(report.pool) {}

  void compare(const PortRow& row) {
    const auto of = [&](std::size_t i) {
      const FabricPort& at = pool_.ports[i];
      return told_[row.code].contains(&at.port) || ended_.contains(&at.port) ? std::nullopt : row.of(at);
    };
    std::map<std::string, Shares<Attribute>> beside;
    std::vector<Shares<Attribute>> rails;
    std::map<Attribute, const Rail*> rail_with;
    for (const Members& group : pool_.groups) {
      const Rail& rail = pool_.ports[group.front()].rail;
      const Shares<Attribute>& shares = rails.emplace_back(shares_of(group, of));
      Shares<Attribute>& others = beside[row.beside == Beside::Kind ? rail.kind : ""];
      for (const auto& [value, members] : shares.members_with) {
        for (const std::size_t i : members) others.add(i, value);
      }
      if (const auto most = shares.majority(kPoolMajority)) rail_with.emplace(*most, &rail);
    }
    for (std::size_t i = 0; i < rails.size(); ++i) {
      const Rail& rail = pool_.ports[pool_.groups[i].front()].rail;
      const Shares<Attribute>& others = beside[row.beside == Beside::Kind ? rail.kind : ""];
      const bool by_rail =
          row.beside == Beside::Nobody || rails[i].majority(kPoolMajority) || (row.right && !pool_.small());
      compare_rail(row, rails[i], by_rail ? rails[i] : others, by_rail ? "node" : "fabric port", rail_with);
    }
  }

 private:
  void compare_rail(const PortRow& row, const Shares<Attribute>& rail, const Shares<Attribute>& all,
                    const char* noun, const std::map<Attribute, const Rail*>& rail_with) {
    const auto most = all.majority(row.right ? 1 : kPoolMajority);
    const auto usual = row.right ? std::optional(Attribute{0, row.right}) : most;
    if (!usual) return;
    const auto share = all.members_with.find(*usual);
    const std::size_t count = share == all.members_with.end() ? 0 : share->second.size();
    for (const auto& odd : odd_ones(rail, usual)) {
      if (row.only_less && odd.value > *usual) continue;
      const auto other = rail_with.find(odd.value);
      for (const std::size_t i : odd.members) {
        const OddPort port{pool_.ports[i], odd.value,
                           *usual,         odd.members.size(),
                           most == usual,  other == rail_with.end() ? nullptr : other->second,
                           pool_};
        tell(row, port, row.by_itself && count == 0 ? "" : usual_text(usual->text, count, all.known, noun));
      }
    }
  }

  void tell(const PortRow& row, const OddPort& odd, const std::string& usual) {
    const auto severity = row.judge ? row.judge(odd) : row.severity;
    if (!severity) return;
    report_.add(row.code, *severity, odd.at, (row.seen ? row.seen(odd) : odd.value.text) + usual,
                row.remedy ? row.remedy(odd) : "");
    told_[row.code].insert(&odd.at.port);
    if (row.ends) ended_.insert(&odd.at.port);
  }

  Report& report_;
  const PoolView& pool_;
  std::map<Code, std::set<const Port*>> told_;
  std::set<const Port*> ended_;
};

struct NodeRow {
  Code code;
  std::optional<Attribute> (*of)(const NodeView&);
  Severity of_many;  // where more than a quarter of the nodes have it, it may be a plan
};

constexpr std::array kNodeRows{
    NodeRow{Code::GidIndexDiffers,
            [](const NodeView& node) {
              const auto index = node.served_index;
              return index ? std::optional(Attribute{0, "index " + std::to_string(*index)}) : std::nullopt;
            },
            Severity::Warning},
    NodeRow{Code::NamespaceModeDiffers,
            [](const NodeView& node) {
              const auto& mode = node.table->rdma_namespace_mode;
              return mode ? std::optional(Attribute{0, std::string(to_string(*mode))}) : std::nullopt;
            },
            Severity::Info}};

void compare_nodes(Report& report, const NodeRow& row) {
  const auto& nodes = report.pool.nodes;
  Shares<Attribute> shares;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (auto value = row.of(*nodes[i])) shares.add(i, *std::move(value));
  }
  if (shares.known < kPoolMajority || shares.members_with.size() < 2) return;
  const auto usual = shares.majority();
  if (!usual) {  // nothing tells which of them is right
    const auto text = [](const auto& share) {
      return share.first.text + " on " + count_of(share.second.size(), "node");
    };
    report.add({row.code,
                row.of_many,
                {.kind = "Pool", .name = report.pool.name},
                "no value is that of most nodes: " + join(shares.members_with, ", ", text)});
    return;
  }
  for (const auto& odd : odd_ones(shares, usual)) {
    const bool many = odd.members.size() * 4 > shares.known;
    for (const std::size_t i : odd.members)
      report.add(row.code, many ? row.of_many : Severity::Warning, *nodes[i], {},
                 odd.value.text + usual_text(odd.usual->text, odd.others.count, shares.known));
  }
}

}  // namespace

void check_attributes(Report& report) {
  PortComparison ports(report);
  for (const PortRow& row : kPortRows) ports.compare(row);
  for (const NodeRow& row : kNodeRows) compare_nodes(report, row);
}

}  // namespace nccl_env::doctor
