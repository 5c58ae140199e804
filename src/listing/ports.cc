// SPDX-License-Identifier: Apache-2.0
#include "ports.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace nccl_env::listing {
namespace {

// Returns the type that the listing names, else the only one that the port allows.
std::optional<GidType> type_of(const Port& port, const RowFacts& row) {
  if (row.row.type) return row.row.type;
  if (port.link_layer == LinkLayer::InfiniBand) return GidType::IB;
  if (row.not_v2 && port.transport == Transport::RoCE) return GidType::RoCEv1;
  return std::nullopt;
}

GidRow finish_row(const Port& port, const RowFacts& told) {
  GidRow row = told.row;
  row.type = type_of(port, told);
  // An InfiniBand GID is a subnet prefix and a GUID, whatever it looks like.
  const bool is_roce = row.type && *row.type != GidType::IB;
  const bool is_global = !row.gid.is_link_local() && !row.gid.is_zero();
  if (row.gid.is_v4_mapped() ? row.type != GidType::IB : is_roce && is_global)
    row.address = row.gid.address();
  return row;
}

// The netdev that every row names.
std::optional<std::string> common_netdev(const std::map<int, RowFacts>& rows) {
  if (rows.empty()) return std::nullopt;
  const std::optional<std::string>& first = rows.begin()->second.row.netdev;
  const bool same =
      std::all_of(rows.begin(), rows.end(), [&](const auto& row) { return row.second.row.netdev == first; });
  return same ? first : std::nullopt;
}

Port make_port(const PortFacts& told, Facts& facts) {
  Port port = told.port;
  if (!port.netdev) port.netdev = common_netdev(told.rows);
  const bool any_v2 = std::any_of(told.rows.begin(), told.rows.end(),
                                  [](const auto& row) { return row.second.row.type == GidType::RoCEv2; });
  if (!port.transport && any_v2) port.transport = Transport::RoCE;
  if (told.unread && told.rows.empty() && !port.link_layer) {  // nothing else names the port
    facts.problem(told.unread->line, told.unread->text);
  } else if (told.unread) {
    facts.note(told.unread->line,
               told.unread->text + "; the GID rows of " + name_of(port) + " count as not known");
  } else if (told.rows
                 .empty()) {  // a listing without rows doesn't tell that there are none, unless it says so
    if (told.no_gid && port.link_layer != LinkLayer::InfiniBand) port.gids.emplace();
  } else {
    port.gids.emplace();
    for (const auto& [index, row] : told.rows) {
      if (!row.row.gid.is_zero()) port.gids->push_back(finish_row(port, row));
    }
  }
  return port;
}

// The virtual functions of ConnectX adapters (PCI ids of mlx5); other even numbers are no such thing.
bool is_virtual(const PortFacts& told) {
  constexpr std::array kVirtual{4114, 4116, 4118, 4120, 4122, 4124, 4126};
  return told.device_type && std::find(kVirtual.begin(), kVirtual.end(), *told.device_type) != kVirtual.end();
}

bool has_address(const Port& port) {
  return port.gids && std::any_of(port.gids->begin(), port.gids->end(),
                                  [](const GidRow& row) { return !row.gid.is_link_local(); });
}

// Leaves out virtual functions of which no address is known beside their physical function, which shares
// their system image GUID: they are there for pods.
std::vector<Port> without_virtual(std::vector<Port> ports, Facts& facts) {
  std::map<std::string, std::string> whole;  // by GUID
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const bool usable = !ports[i].gids || !ports[i].gids->empty();
    if (usable && facts.ports[i].device_type && !is_virtual(facts.ports[i]) && ports[i].sys_image_guid)
      whole.emplace(*ports[i].sys_image_guid, ports[i].hca);
  }
  std::vector<Port> kept;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const auto found = whole.find(ports[i].sys_image_guid.value_or(""));
    if (found == whole.end() || !is_virtual(facts.ports[i]) || has_address(ports[i])) {
      kept.push_back(std::move(ports[i]));
    } else {
      facts.note(facts.ports[i].line, name_of(ports[i]) + " is a virtual function of " + found->second +
                                          " without a known address: left out");
    }
  }
  return kept;
}

}  // namespace

std::vector<Port> make_ports(Facts& facts) {
  std::vector<Port> ports;
  ports.reserve(facts.ports.size());
  for (const PortFacts& told : facts.ports) ports.push_back(make_port(told, facts));
  return without_virtual(std::move(ports), facts);
}

}  // namespace nccl_env::listing
