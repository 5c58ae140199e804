// SPDX-License-Identifier: Apache-2.0
#include "ports.h"

#include <algorithm>
#include <map>

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

Port make_port(const PortFacts& told) {
  Port port = told.port;
  if (!port.netdev) port.netdev = common_netdev(told.rows);
  const bool any_v2 = std::any_of(told.rows.begin(), told.rows.end(),
                                  [](const auto& row) { return row.second.row.type == GidType::RoCEv2; });
  if (!port.transport && any_v2) port.transport = Transport::RoCE;
  if (told.rows.empty()) {
    // A listing without rows doesn't tell that there are none, unless it says so.
    if (told.no_gid && port.link_layer != LinkLayer::InfiniBand) port.gids.emplace();
  } else {
    port.gids.emplace();
    for (const auto& [index, row] : told.rows) {
      if (!row.row.gid.is_zero()) port.gids->push_back(finish_row(port, row));
    }
  }
  return port;
}

}  // namespace

std::vector<Port> make_ports(const Facts& facts) {
  std::vector<Port> ports;
  ports.reserve(facts.ports.size());
  for (const PortFacts& told : facts.ports) ports.push_back(make_port(told));
  return ports;
}

}  // namespace nccl_env::listing
