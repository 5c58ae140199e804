// SPDX-License-Identifier: Apache-2.0
// Addresses that several ports have.
#include <algorithm>
#include <map>
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

struct Owners {
  const PoolView* pool = nullptr;  // of the first
  bool same_pool = true;
  std::vector<std::string> names;

  // Cables between two nodes, or bridges inside one, may have the same addresses on all nodes.
  [[nodiscard]] bool are_most() const {
    return names.size() >= kPoolMajority && names.size() * 2 > pool->nodes.size();
  }
};

// "": the code's, for addresses that netdevs have.
const char* remedy_for(const Port& port) {
  if (link_layer_of(port) != LinkLayer::InfiniBand) return "";
  return "A GUID belongs to one card: see whether the two names are one machine (compare sys_image_guid), a "
         "card was flashed with another's image (`mstflint -d DEVICE query`), or a VF was given another's "
         "GUID (`ip link show`), and give that one its own.";
}

template <class Visit>
void each_address(const std::vector<PoolView>& pools, const DoctorInput& input, const Visit& visit) {
  for (const PoolView& pool : pools) {
    for (const FabricPort& at : pool.ports) {
      // Whoever has them now may be the same machine under a new name.
      if (at.node.table->time && input.now - *at.node.table->time > input.max_table_age) continue;
      for (const Gid& gid : reached_by(at)) visit(pool, at, gid);
    }
  }
}

}  // namespace

void check_duplicates(const std::vector<PoolView>& pools, const DoctorInput& input,
                      std::vector<Finding>& findings) {
  std::map<Gid, Owners> owners;
  each_address(pools, input, [&](const PoolView& pool, const FabricPort& at, const Gid& gid) {
    Owners& all = owners[gid];
    if (!all.pool) all.pool = &pool;
    all.same_pool = all.same_pool && all.pool == &pool;
    all.names.push_back(at.node.table->name + " " + port_name(*at.node.table, at.port));
  });
  each_address(pools, input, [&](const PoolView& pool, const FabricPort& at, const Gid& gid) {
    const Owners& all = owners[gid];
    if (all.names.size() < 2) return;
    const std::string address = gid.is_v4_mapped() ? format_ip(gid.address()) : format_gid(gid);
    const bool error = all.same_pool && !all.are_most();
    Report(pool, input, findings)
        .add(Code::DuplicateAddress, error ? Severity::Error : Severity::Warning, at,
             all.are_most() ? "its address is that of " + count_of(all.names.size(), "port")
                            : address + " is the address of " + some_of(all.names),
             remedy_for(at.port));
  });
}

}  // namespace nccl_env::doctor
