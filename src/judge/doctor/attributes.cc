// SPDX-License-Identifier: Apache-2.0
// The attributes that ports of one rail, and nodes of one pool, have to share: a row each.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "doctor/checks.h"
#include "nccl_env/core/engines/nccl/gid.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/text/timestamp.h"

namespace nccl_env::doctor {
namespace {

// Texts are those of the usual value: "Active", "200 Gb/s", "10.1.0.0/16".
struct Attribute {
  double number = 0;
  std::string text;
  std::string_view noun = {};  // before the text where a bare name would not tell what it is

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

// Empty: the value's text; the code's remedy; the row's severity.
struct Told {
  std::string seen = {};
  std::string remedy = {};
  std::optional<Severity> severity = {};
};

// Whom a port is compared with where its rail has no usual value, as in a pool of one or two nodes.
enum class Beside { Nobody, Kind, Pool };

struct PortRule {
  Beside beside = Beside::Pool;
  const char* right = nullptr;  // that value is the usual one, whatever most have; null: what most have
  bool only_less = false;       // more than the others is no fault
  bool ends = false;            // nothing else is told of a port that differs in this
  bool by_itself = false;       // that all ports of a rail differ says no more of each
};

struct PortRow {
  Code code;
  Severity severity;
  std::optional<Attribute> (*of)(const FabricPort&);
  std::optional<Told> (*tell)(const OddPort&) = nullptr;  // nothing: it is no fault
  PortRule rule = {};
};

std::optional<Attribute> number_of(std::optional<double> value, const char* unit) {
  if (!value) return std::nullopt;
  std::ostringstream text;
  text << *value << unit;
  return Attribute{*value, text.str()};
}

template <class T>
std::optional<Attribute> word_of(const std::optional<T>& word, std::string_view noun = {}) {
  if (!word) return std::nullopt;
  if constexpr (std::is_enum_v<T>)
    return Attribute{0, std::string(to_string(*word)), noun};
  else
    return Attribute{0, *word, noun};
}

std::optional<Attribute> link_of(const FabricPort& at) {
  return word_of(link_layer_of(at.port), "link layer ");
}

bool is_infiniband(const FabricPort& at) {
  return link_layer_of(at.port) == LinkLayer::InfiniBand;
}

// 1 and 2 are the values of NVIDIA's mlxconfig (Firmware Tools, "Using mlxconfig"), which takes the device's
// name; a card's second port is its second function, or the second port of one. Another maker's has the
// code's remedy.
std::optional<Told> tell_link(const OddPort& odd) {
  const Port& port = odd.at.port;
  if (!port.driver.value_or("").starts_with("mlx")) return Told();
  const bool second = port.number == 2 || port.pci_address.value_or("").ends_with(".1");
  return Told{.remedy =
                  "If the port leads to the same switches as its pool's, set its link type (likewise of each "
                  "port that is named), and reboot the node: `mlxconfig -d " +
                  port.hca + " set LINK_TYPE_P" + (second ? "2" : "1") + "=" +
                  (is_infiniband(odd.at) ? "2" : "1") + "` (1: InfiniBand, 2: Ethernet)."};
}

constexpr const char* kActive = "Active";

std::optional<Attribute> state_of(const FabricPort& at) {
  if (!at.port.state) return std::nullopt;
  return Attribute{0, is_down(at.port) ? "down" : kActive};
}

std::vector<const Interface*> interfaces_of(const FabricPort& at) {
  std::vector<const Interface*> found;
  for (const std::string_view name : netdevs_of(at.port)) {
    if (const Interface* interface = at.node.interfaces.find(name)) found.push_back(interface);
  }
  return found;
}

std::optional<Told> tell_down(const OddPort& odd) {
  const Port& port = odd.at.port;
  Told told{std::string(to_string(*port.state))};
  if (port.state_since) told.seen += " since " + format_timestamp(*port.state_since);
  const auto is_set_down = [](const Interface* interface) { return interface->up == false; };
  if (std::ranges::any_of(interfaces_of(odd.at), is_set_down)) {
    told.seen += ", and its netdev is set down";
    told.remedy =
        "Bring the netdev up (`nccl-env nodes NAME` names it; `ip link set NETDEV up`), and find what set "
        "it down: netplan, a network operator, a person.";
  } else if (is_infiniband(odd.at) && port.state != PortState::Down) {
    told.remedy =
        "The link is up, and the port waits for the subnet manager: see that one runs and reaches the node.";
  }
  return told;
}

std::optional<Attribute> rate_here(const FabricPort& at) {
  return number_of(rate_of(at.port), " Gb/s");
}

constexpr const char* kNoSlower = "no slower than before";

std::optional<Attribute> slowed_of(const FabricPort& at) {
  return Attribute{0, has_slowed(at.port) ? "slower" : kNoSlower};
}

std::optional<Told> tell_slowed(const OddPort& odd) {
  return Told{number_of(odd.at.port.rate_gbps, " Gb/s")->text + ", after " +
              number_of(odd.at.port.max_rate_gbps, " Gb/s")->text + " earlier, since the node booted"};
}

std::optional<Attribute> active_mtu(const FabricPort& at) {
  return is_down(at.port) ? std::nullopt : number_of(at.port.active_mtu, " bytes of active MTU");
}

std::optional<Attribute> netdev_mtu(const FabricPort& at) {
  for (const Interface* each : interfaces_of(at)) {
    if (each->mtu && !is_down(at.port)) return number_of(each->mtu, " bytes of netdev MTU");
  }
  return std::nullopt;
}

std::optional<Told> tell_mtu(const OddPort& odd) {
  if (!is_infiniband(odd.at)) return Told();
  return Told{
      .remedy =
          "The subnet manager sets the MTU of an InfiniBand link to what both of its ends can do: compare "
          "MtuCap and NeighborMTU of the port and its switch port with a good one's (`smpquery portinfo LID "
          "PORT`), and the manager's settings; the netdev's MTU (IPoIB) is at most that of its partition "
          "less 4."};
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
std::optional<Told> tell_no_row(const OddPort& odd) {
  const auto& [node, rail, port, rows] = odd.at;
  const bool most = odd.usual_is_most, v1_alone = rows.only_v1 && rows.v1_address;
  Told told{"no usable RoCE v2 row (" + rows.why + ")"};
  if (!most) {
    if (node.reason) return std::nullopt;  // NoFabric says so
    if (!v1_alone && is_of_sub_interfaces(*node.policy)) return std::nullopt;
    told.severity = v1_alone ? Severity::Warning : Severity::Info;
    told.seen += ", and hostNetwork pods get ";
    if (!node.on_host.empty())
      told.seen += std::to_string(node.on_host.size()) + " of " + count_of(odd.pool.expected(), "HCA");
    else
      told.seen +=
          "no HCA list" + (node.host_reason ? " (" + std::string(to_string(*node.host_reason)) + ")" : "");
  }
  if (rows.only_v1 && !port.gids->empty() && (most || rows.v1_address)) {
    told.remedy =
        "The port has rows of RoCE v1 alone, as a card or driver without v2 has: compare firmware and "
        "driver with a good node's (ibv_devinfo, modinfo).";
  } else if (!most) {
    told.remedy =
        "Nothing, where pods have sub-interfaces of their own (a policy that says exposure: SubInterface "
        "ends this), or where these ports are for something else; else give their netdevs addresses (DHCP, "
        "netplan, the network operator).";
  }
  return told;
}

// Rails among themselves may be of one family each: that is a plan.
std::optional<Attribute> family_of(const FabricPort& at) {
  if (at.rows.usable.empty()) return std::nullopt;
  return Attribute{0, at.rows.v4 ? "IPv4" : "IPv6 alone"};
}

// A port with both serves either.
std::optional<Told> tell_family(const OddPort& odd) {
  if (odd.at.rows.v4 && odd.at.rows.v6) return std::nullopt;
  return Told{
      std::string("has addresses of ") + (odd.at.rows.v4 ? "IPv4" : "IPv6") +
          " alone, by which it does not reach the others",
      "Give these netdevs addresses of the family that the other nodes have, or give both to all nodes."};
}

// The subnet of the row that the node's pods use: that of their index, else of NCCL's own search. Of an
// InfiniBand port that is up its prefix, which the subnet manager gives.
std::optional<Attribute> network_of(const FabricPort& at) {
  const NcclPolicy& policy = *at.node.policy;
  std::optional<int> index = at.node.served_index;
  NcclEnv env(policy.env.begin(), policy.env.end());
  if (!at.rows.v4) env.emplace(variable::kIbAddrFamily, "AF_INET6");
  if (!index && !at.rows.usable.empty()) index = nccl_gid_index(at.port, env, kNewestNccl).index;
  const bool infiniband = is_infiniband(at) && !is_down(at.port);
  for (const GidRow& row : at.port.gids.value_or(std::vector<GidRow>())) {
    std::optional<Cidr> network;
    if (infiniband && row.index == 0 && !row.gid.is_zero()) network = Cidr{row.gid.address(), 64}.network();
    if (row.index == index && std::ranges::count(at.rows.usable, row.index) > 0)
      network = at.node.interfaces.network_of(row);
    if (network) return Attribute{0, format_cidr(*network)};
  }
  return std::nullopt;
}

// Several nodes in another subnet are a unit of their own, or another fabric.
std::optional<Told> tell_network(const OddPort& odd) {
  if (!odd.other && odd.alike > 1) return std::nullopt;
  Told told{odd.value.text};
  if (odd.other) {
    told.seen += ", the subnet of rail " + odd.other->name;
    told.severity = Severity::Error;
  }
  if (is_infiniband(odd.at))
    told.remedy =
        "See that one subnet manager serves all of these ports (sminfo), and compare the subnet_prefix of "
        "all. If they are two fabrics on purpose, keep each job on one: ports of two prefixes do not reach "
        "each other.";
  return told;
}

// The traffic class of NCCL's packets; -1: whatever a job sets. What the driver forces counts before what
// NCCL asks for (tclass_get_tclass of MLNX_OFED).
std::optional<int> class_of(const FabricPort& at) {
  const NcclPolicy& policy = *at.node.policy;
  const NcclEnv env(policy.env.begin(), policy.env.end());
  const std::int64_t asked = policy.varies(variable::kIbTc) ? -1 : nccl_parameter(env, variable::kIbTc, -1);
  if (!is_roce(at.port)) return std::nullopt;
  if (at.port.traffic_class.value_or(-1) >= 0 || asked < 0) return at.port.traffic_class;
  return static_cast<int>(asked & 0xff);
}

std::optional<Attribute> traffic_class(const FabricPort& at) {
  const auto known = class_of(at);
  if (!known) return std::nullopt;
  return Attribute{0, *known < 0 ? "no traffic class" : "traffic class " + std::to_string(*known)};
}

// The number is 1 where the priority is lossless. An mlx5 that trusts no DSCP goes by the service level.
std::optional<Attribute> carriage_of(const FabricPort& at) {
  const auto& [by_dscp, lossless] = std::tie(at.port.dscp_priorities, at.port.lossless_priorities);
  const int known = class_of(at).value_or(-1);
  if (known < 0 || !by_dscp || !lossless) return std::nullopt;
  const bool level_0 = at.port.driver == "mlx5_core" && !at.node.policy->sets_constant(variable::kIbSl);
  const char priority = !by_dscp->empty() ? (*by_dscp)[static_cast<std::size_t>(known / 4)]
                        : level_0         ? '0'
                                          : '-';
  if (priority == '-') return std::nullopt;
  const bool kept = lossless->find(priority) != std::string::npos;
  return Attribute{kept ? 1.0 : 0, traffic_class(at)->text + " in priority " + priority +
                                       (kept ? " with PFC" : " without PFC")};
}

constexpr const char* kLossless = "with PFC";

// A port without PFC is of a fabric that is lossy by design.
std::optional<Attribute> loss_of(const FabricPort& at) {
  const auto carriage = carriage_of(at);
  if (!carriage || at.port.lossless_priorities->empty()) return std::nullopt;
  return Attribute{0, carriage->number > 0 ? kLossless : "without PFC"};
}

std::optional<Told> tell_loss(const OddPort& odd) {
  const auto& [node, rail, port, rows] = odd.at;
  const bool forced = port.traffic_class.value_or(-1) >= 0;
  return Told{carriage_of(odd.at)->text + ", which is on for " +
              join(*port.lossless_priorities, ", ", [](char digit) { return std::string(1, digit); }) +
              (forced ? "; the driver forces that class"
                      : "; policy " + node.policy->name + " sets it (NCCL_IB_TC)") +
              (port.dscp_priorities->empty() ? ", and the port trusts no DSCP" : "")};
}

// A port of which a row has told something is not told by a further row of that code: MTUs follow each other,
// and another driver has another board. Queue pairs take the smaller MTU of the two sides, but traffic hangs
// if the fabric drops larger packets.
constexpr PortRow kPortRows[] = {
    {Code::HardwareDiffers, Severity::Error, link_of, tell_link, {.ends = true}},
    {Code::HardwareDiffers, Severity::Error,
     [](const FabricPort& at) { return word_of(at.port.driver, "driver "); }},
    {Code::HardwareDiffers, Severity::Warning,
     [](const FabricPort& at) { return word_of(at.port.board_id, "board "); }},
    {Code::PortDown, Severity::Error, state_of, tell_down, {.right = kActive}},
    {Code::RateLow, Severity::Warning, rate_here, nullptr, {.beside = Beside::Kind, .only_less = true}},
    {Code::RateLow, Severity::Warning, slowed_of, tell_slowed, {.right = kNoSlower, .by_itself = true}},
    {Code::MtuDiffers, Severity::Error, active_mtu, tell_mtu, {.beside = Beside::Kind}},
    {Code::MtuDiffers, Severity::Warning, netdev_mtu, tell_mtu, {.beside = Beside::Kind}},
    {Code::NoAddress, Severity::Error, row_of, tell_no_row, {.right = kUsableRow}},
    {Code::NoAddress, Severity::Error, family_of, tell_family, {.beside = Beside::Nobody}},
    {Code::SubnetDiffers, Severity::Warning, network_of, tell_network, {.beside = Beside::Nobody}},
    {Code::LossyTrafficClass, Severity::Warning, loss_of, tell_loss, {.right = kLossless, .by_itself = true}},
    {Code::LossyTrafficClass, Severity::Warning, traffic_class, nullptr, {.beside = Beside::Kind}},
    {Code::LossyTrafficClass, Severity::Warning, carriage_of, nullptr, {.beside = Beside::Kind}},
};

// Compares the ports of a pool by one row after another.
class PortComparison {
 public:
  explicit PortComparison(Report& report) : report_(report), pool_(report.pool) {}

  void compare(const PortRow& row) {
    const auto of = [&](std::size_t i) {
      const FabricPort& at = pool_.ports[i];
      return told_[row.code].contains(&at.port) || ended_.contains(&at.port) ? std::nullopt : row.of(at);
    };
    std::vector<Shares<Attribute>> rails;
    std::map<std::string, Shares<Attribute>> beside;
    std::map<Attribute, const Rail*> rail_with;
    const auto beside_of = [&](const Rail& rail) { return row.rule.beside == Beside::Kind ? rail.kind : ""; };
    for (const Rail& rail : pool_.rails) {
      const Shares<Attribute>& shares = rails.emplace_back(shares_of(rail.members, of));
      for (const auto& [value, members] : shares.members_with) {
        for (const std::size_t i : members) beside[beside_of(rail)].add(i, value);
      }
      if (const auto most = shares.majority(kPoolMajority)) rail_with.emplace(*most, &rail);
    }
    for (std::size_t i = 0; i < rails.size(); ++i) {
      const bool by_rail = row.rule.beside == Beside::Nobody || rails[i].majority(kPoolMajority) ||
                           (row.rule.right && !pool_.small());
      const Shares<Attribute>& all = by_rail ? rails[i] : beside[beside_of(pool_.rails[i])];
      compare_rail(row, rails[i], all, by_rail ? "node" : "fabric port", rail_with);
    }
  }

 private:
  void compare_rail(const PortRow& row, const Shares<Attribute>& rail, const Shares<Attribute>& all,
                    const char* noun, const std::map<Attribute, const Rail*>& rail_with) {
    const auto most = all.majority(row.rule.right ? 1 : kPoolMajority);
    const auto usual = row.rule.right ? std::optional(Attribute{0, row.rule.right}) : most;
    if (!usual) return;
    const auto share = all.members_with.find(*usual);
    const std::size_t count = share == all.members_with.end() ? 0 : share->second.size();
    for (const auto& odd : odd_ones(rail, usual)) {
      if (row.rule.only_less && odd.value > *usual) continue;
      const auto other = rail_with.find(odd.value);
      for (const std::size_t i : odd.members) {
        const OddPort port{pool_.ports[i], odd.value,
                           *usual,         odd.members.size(),
                           most == usual,  other == rail_with.end() ? nullptr : other->second,
                           pool_};
        tell(row, port,
             row.rule.by_itself && count == 0 ? "" : usual_text(usual->text, count, all.known, noun));
      }
    }
  }

  void tell(const PortRow& row, const OddPort& odd, const std::string& usual) {
    const auto told = row.tell ? row.tell(odd) : Told();
    if (!told) return;
    const std::string value = std::string(odd.value.noun) + odd.value.text;
    report_.add(row.code, told->severity.value_or(row.severity), odd.at.node,
                {port_name(odd.at.node, odd.at.port)}, (told->seen.empty() ? value : told->seen) + usual,
                told->remedy);
    told_[row.code].insert(&odd.at.port);
    if (row.rule.ends) ended_.insert(&odd.at.port);
  }

  Report& report_;
  const PoolView& pool_;
  std::map<Code, std::set<const Port*>> told_;
  std::set<const Port*> ended_;
};

// A pool of two has no usual network. Nodes whose rows are in different ones need a route, as many fabrics
// have it; but not where another row of a port is in the other node's.
void compare_networks_of_two(Report& report) {
  const PoolView& pool = report.pool;
  if (pool.nodes.size() != 2) return;
  std::map<const NodeView*, std::set<std::string>> used, all;
  for (const FabricPort& at : pool.ports) {
    if (const auto network = network_of(at)) used[&at.node].insert(network->text);
    for (const GidRow& row : at.port.gids.value_or(std::vector<GidRow>())) {
      const auto network = at.node.interfaces.network_of(row);
      if (network && std::ranges::count(at.rows.usable, row.index) > 0)
        all[&at.node].insert(format_cidr(*network));
    }
  }
  const auto& [first, second] = std::pair(pool.nodes[0], pool.nodes[1]);
  if (used[first].empty() || used[second].empty() || meet(used[first], used[second])) return;
  const bool beside = meet(all[first], all[second]);
  report.add({Code::SubnetDiffers,
              beside ? Severity::Warning : Severity::Info,
              {.kind = "Pool", .name = pool.name},
              "no network is that of both nodes: " + first->table->name + " uses rows in " +
                  some_of(used[first]) + ", " + second->table->name + " in " + some_of(used[second]),
              beside ? "" : "Nothing, where these networks are routed to each other, as between racks."});
}

void compare_modes(Report& report) {
  const auto& nodes = report.pool.nodes;
  Shares<std::string> shares;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (const auto mode = nodes[i]->table->rdma_namespace_mode) shares.add(i, std::string(to_string(*mode)));
  }
  if (shares.known < kPoolMajority || shares.members_with.size() < 2) return;
  if (!shares.majority())  // nothing tells which of them is right
    report.add({Code::NamespaceModeDiffers,
                Severity::Info,
                {.kind = "Pool", .name = report.pool.name},
                "no value is that of most nodes: " + join(shares.members_with, ", ", [](const auto& share) {
                  return share.first + " on " + count_of(share.second.size(), "node");
                })});
  for (const auto& odd : odd_ones(shares, shares.majority())) {
    if (!odd.usual) return;
    const bool many = odd.members.size() * 4 > shares.known;  // it may be a plan
    for (const std::size_t i : odd.members)
      report.add(Code::NamespaceModeDiffers, many ? Severity::Info : Severity::Warning, *nodes[i], {},
                 odd.value + usual_text(*odd.usual, odd.others.count, shares.known));
  }
}

}  // namespace

void check_attributes(Report& report) {
  PortComparison ports(report);
  for (const PortRow& row : kPortRows) ports.compare(row);
  compare_networks_of_two(report);
  compare_modes(report);
}

}  // namespace nccl_env::doctor
