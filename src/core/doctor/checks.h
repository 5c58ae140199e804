// SPDX-License-Identifier: Apache-2.0
// The checks of the doctor, each over one pool, the findings that they add to, and the sentences that they
// share.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "doctor/pool.h"
#include "nccl_env/core/findings/finding.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env::doctor {

// The findings of one pool.
class Report {
 public:
  Report(const PoolView& of, const DoctorInput& from, std::vector<Finding>& findings)
      : pool(of), input(from), findings_(findings) {}

  // Adds a finding of a node, or of the pool where `node` is null.
  void add(Code code, Severity severity, const NodeView* node, std::vector<std::string> ports,
           std::string sentence, std::string remedy = {}) {
    Subject subject = node ? of_node(node->table->name) : Subject{.kind = "Pool", .name = pool.name};
    subject.parts = std::move(ports);
    findings_.push_back({code, severity, std::move(subject), std::move(sentence), std::move(remedy)});
  }
  void add(Code code, Severity severity, const FabricPort& at, std::string sentence,
           std::string remedy = {}) {
    add(code, severity, &at.node, {port_name(*at.node.table, at.port)}, std::move(sentence),
        std::move(remedy));
  }

  const PoolView& pool;
  const DoctorInput& input;

 private:
  std::vector<Finding>& findings_;
};

// "a, b, c, d and 5 more"
template <class Names>
std::string some_of(const Names& names) {
  return join_some(names, 4);
}

// Hands each port to `tell` that has not what is usual on its rail, or in the whole pool: what `usual` takes
// of the shares, if anything.
template <class Of, class Usual, class Tell>
void compare_ports(const PoolView& pool, bool whole, const Of& of, const Usual& usual, const Tell& tell) {
  for (const Members& group : groups_of(pool, whole)) {
    const auto shares = shares_of(group, [&](std::size_t i) { return of(pool.ports[i]); });
    const auto value = usual(shares, pool.ports[group.front()].rail);
    if (!value) continue;
    for (const auto& odd : odd_ones(shares, value)) {
      for (const std::size_t i : odd.members) tell(pool.ports[i], odd, shares);
    }
  }
}

void check_node(Report& report);  // ManagementInFabric, StaleTable, NamespaceModeDiffers
// NoFabric, but for nodes of which other findings tell it.
void check_no_fabric(Report& report, const std::set<const NodeView*>& told);
void check_presence(Report& report);  // HcaMissing, HcasDiffer, HardwareDiffers, PortDown
void check_speed(Report& report);     // RateLow, MtuDiffers
void check_index(Report& report);     // NoAddress, GidIndexDiffers
void check_drift(Report& report);     // GidIndexMoved, of ports
void check_subnets(Report& report);   // SubnetDiffers
// NoFabric, of nodes without hardware, which are in no pool.
void check_bare(const std::vector<NodeView>& views, std::vector<Finding>& findings);
// DuplicateAddress, over all pools: two pools may share a network.
void check_duplicates(const std::vector<PoolView>& pools, const DoctorInput& input,
                      std::vector<Finding>& findings);

}  // namespace nccl_env::doctor
