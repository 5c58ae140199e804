// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/fabric/port_facts.h"

#include <algorithm>
#include <set>

#include "described/writer.h"
#include "nccl_env/core/fabric/description.h"

namespace nccl_env {
namespace {

// Why the row's interface cannot serve it; "" if it can, or if too little is known to say.
std::string interface_problem(const InterfaceIndex& interfaces, const GidRow& row) {
  const Interface* interface = row.netdev ? interfaces.find(*row.netdev) : nullptr;
  if (!interface) return {};
  if (interface->up == false) return *row.netdev + " is down";
  const IpAddress wanted = row.address.value_or(row.gid.address());
  // A bond's or VRF's address stands on the master, the row on its member.
  const Interface* master = interfaces.find(interface->master.value_or(""));
  for (const Interface* holder : {interface, master}) {
    if (holder && interfaces.is_beside(*holder, wanted))
      return format_ip(wanted) + " is a single address beside those of a subnet, as a VIP is";
    if (holder && (!holder->addresses || interfaces.carries(*holder, wanted))) return {};
  }
  if (!interface->master || (!master && !interface->master->empty())) return {};
  return format_ip(wanted) + " is not an address of " + *row.netdev +
         (master ? " or of its master " + *interface->master : "");
}

}  // namespace

std::vector<std::string_view> netdevs_of(const Port& port) {
  std::vector<std::string_view> netdevs;
  std::set<std::string_view> seen;
  const auto add = [&](const std::optional<std::string>& name) {
    if (!name || name->empty()) return;
    if (seen.insert(*name).second) netdevs.push_back(*name);
  };
  add(port.netdev);
  add(port.lag);
  if (port.gids) {
    for (const GidRow& row : *port.gids) add(row.netdev);
  }
  return netdevs;
}

std::optional<LinkLayer> link_layer_of(const Port& port) {
  if (port.link_layer) return port.link_layer;
  if (port.transport) {
    return *port.transport == Transport::InfiniBand ? LinkLayer::InfiniBand : LinkLayer::Ethernet;
  }
  std::optional<LinkLayer> layer;
  if (!port.gids) return layer;
  for (const GidRow& row : *port.gids) {
    if (row.type && *row.type != GidType::IB) return LinkLayer::Ethernet;
    if (row.type) layer = LinkLayer::InfiniBand;
  }
  return layer;
}

bool is_roce(const Port& port) {
  if (port.transport) return *port.transport == Transport::RoCE;
  if (!port.gids || link_layer_of(port) != LinkLayer::Ethernet) return false;
  return std::any_of(port.gids->begin(), port.gids->end(),
                     [](const GidRow& row) { return row.type && *row.type != GidType::IB; });
}

bool has_no_gid(const Port& port) {
  return port.gids && port.gids->empty() && port.transport.value_or(Transport::RoCE) == Transport::RoCE &&
         link_layer_of(port) != LinkLayer::InfiniBand;
}

std::optional<double> rate_of(const Port& port) {
  return port.state.value_or(PortState::Active) == PortState::Active ? port.rate_gbps : std::nullopt;
}

bool has_slowed(const Port& port) {
  const auto rate = rate_of(port);
  return rate && port.max_rate_gbps && *rate < *port.max_rate_gbps;
}

RowVerdict judge_row(const InterfaceIndex& interfaces, const GidRow& row, const std::vector<Cidr>& subnets) {
  const auto refuse = [](std::string why) { return RowVerdict{false, true, std::move(why)}; };
  if (row.gid.is_zero()) return refuse("an empty row");
  if (row.gid.is_link_local()) return refuse("link-local");
  if (row.gid.is_v4_link_local()) return refuse("169.254.0.0/16 is link-local");
  if (!row.type) return {false, false, "its type is not known"};
  if (*row.type != GidType::RoCEv2) return refuse(std::string(to_string(*row.type)) + ", not RoCE v2");
  if (std::string problem = interface_problem(interfaces, row); !problem.empty())
    return refuse(std::move(problem));
  if (!subnets.empty()) {
    const IpAddress address = row.address.value_or(row.gid.address());
    const auto holds_it = [&](const Cidr& subnet) { return subnet.contains(address); };
    if (std::none_of(subnets.begin(), subnets.end(), holds_it)) return refuse("outside the policy's subnets");
  }
  return {true, true, "usable"};
}

RowVerdict judge_row(const InterfaceIndex& interfaces, const Port& port, const GidRow& row,
                     const std::vector<Cidr>& subnets) {
  if (link_layer_of(port) == LinkLayer::InfiniBand && !row.gid.is_zero()) return {true, true, "usable"};
  return judge_row(interfaces, row, subnets);
}

std::vector<std::string> other_facts(const Port& port, std::span<const std::string_view> with_words) {
  std::vector<std::string> facts;
  described::each_field<Port>(
      [&]<class Member, class Kind>(const described::Field<Port, Member, Kind>& field) {
        if constexpr (!described::is_list<Member> && !described::is_required<Member>) {
          const Member& value = port.*field.member;
          if (!value || std::find(with_words.begin(), with_words.end(), field.name) != with_words.end())
            return;
          const nlohmann::ordered_json fact = described::write_as(field.kind, *value, false);
          const std::string text = fact.is_string() ? std::string(fact) : fact.dump();
          facts.push_back(std::string(field.name) + " " + (text.empty() ? "none" : text));
        }
      });
  return facts;
}

}  // namespace nccl_env
