// SPDX-License-Identifier: Apache-2.0
// Addresses that several ports have.
#include <algorithm>
#include <set>

#include "doctor/checks.h"
#include "nccl_env/core/fabric/port_facts.h"

namespace nccl_env::doctor {
namespace {

// The addresses by which a port is reached on its fabric: usable RoCE v2 addresses, or InfiniBand's first
// GID.
std::set<Gid> reached_by(const FabricPort& at) {
  std::set<Gid> found;
  if (!at.port.gids || is_down(at.port)) return found;
  const bool roce = is_roce(at.port);
  for (const GidRow& row : *at.port.gids) {
    if (row.type == GidType::IB && row.index == 0 && !row.gid.is_zero()) found.insert(row.gid);
    if (roce && judge_row(at.node.interfaces, row, {}).usable) found.insert(row.gid);
  }
  return found;
}

// "": the code's, for addresses that netdevs have.
const char* remedy_for(const Port& port) {
  if (link_layer_of(port) != LinkLayer::InfiniBand) return "";
  return "A GUID belongs to one card: see whether the two names are one machine (compare sys_image_guid), a "
         "card was flashed with another's image (`mstflint -d DEVICE query`), or a VF was given another's "
         "GUID (`ip link show`), and give that one its own.";
}

struct Owner {
  const PoolView* pool;
  const FabricPort* at;
};

}  // namespace

void check_duplicates(const std::vector<PoolView>& pools, const DoctorInput& input,
                      std::vector<Finding>& findings) {
  std::vector<Owner> owners;
  Shares<Gid> shares;
  for (const PoolView& pool : pools) {
    for (const FabricPort& at : pool.ports) {
      // Whoever has them now may be the same machine under a new name.
      const auto& dated = at.node.table->dated();
      if (dated && input.now - *dated > input.max_table_age) continue;
      for (const Gid& gid : reached_by(at)) shares.add(owners.size(), gid);
      owners.push_back({&pool, &at});
    }
  }
  const auto name_of = [&](std::size_t i) {
    const auto& [node, rail, port, rows] = *owners[i].at;
    return node.table->name + " " + port_name(node, port);
  };
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const auto* const pool = owners[i].pool;
    const FabricPort* const at = owners[i].at;
    for (const Gid& gid : reached_by(*at)) {
      const Members& same = shares.members_with.at(gid);
      if (same.size() < 2) continue;
      // Cables between two nodes, or bridges inside one, may have the same addresses on all nodes.
      const bool most =
          same.size() >= kPoolMajority && same.size() * 2 > owners[same.front()].pool->nodes.size();
      const bool error =
          !most && std::ranges::all_of(same, [&](std::size_t other) { return owners[other].pool == pool; });
      const std::string address = gid.is_v4_mapped() ? format_ip(gid.address()) : format_gid(gid);
      findings.push_back({Code::DuplicateAddress, error ? Severity::Error : Severity::Warning,
                          of_node(at->node.table->name, {port_name(at->node, at->port)}),
                          most ? "its address is that of " + count_of(same.size(), "port")
                               : address + " is the address of " + join_some(same, kMostNamed, name_of),
                          remedy_for(at->port)});
    }
  }
}

}  // namespace nccl_env::doctor
