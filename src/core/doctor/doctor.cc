// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/doctor/doctor.h"

#include <algorithm>

#include "doctor/checks.h"
#include "nccl_env/core/choose/gid_index.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/fabric/hca_name.h"

namespace nccl_env {
namespace {

using doctor::NodeView;
using doctor::PoolView;

NodeState state_of(const NodeView& view, const DoctorInput& input) {
  NodeState state;
  state.node = view.table->name;
  if (view.reason) state.reason = to_string(*view.reason);
  for (const Port* port : view.offered) {
    state.hcas.push_back(doctor::port_name(*view.table, *port));
    if (const auto rate = rate_of(*port)) state.rates.push_back(*rate);
    state.unknown_states += port->state ? 0 : 1;
  }
  if (!view.offered.empty()) state.hca_list = format_hca_list(*view.table, view.offered);
  state.gid_index = view.index;
  if (view.table->time) {
    state.age = input.now - *view.table->time;
    state.stale = *state.age > input.max_table_age;
  }
  return state;
}

// The ports of the pool's node at `position`.
std::vector<int> rail_ports(const PoolView& pool, std::size_t position) {
  const NodeFabric& table = *pool.nodes[position]->table;
  std::vector<int> indexes;
  for (const doctor::Rail& rail : pool.rails) {
    const Port* port = rail.ports[position];
    indexes.push_back(port ? static_cast<int>(port - table.ports.data()) : -1);
  }
  return indexes;
}

Pool pool_of(const PoolView& view) {
  Pool pool{view.name, doctor::shape_text(view.nodes.front()->shape), {}, {}, view.by_name};
  for (const doctor::Rail& rail : view.rails) pool.rails.push_back({rail.name, rail.fabric});
  for (const NodeView* node : view.nodes) pool.nodes.push_back(node->table->name);
  std::sort(pool.nodes.begin(), pool.nodes.end(), hca_name_less);
  return pool;
}

}  // namespace

Diagnosis diagnose(const DoctorInput& input) {
  std::vector<NodeView> views;
  views.reserve(input.tables.size());  // pools point into it
  for (const auto& table : input.tables) views.push_back(doctor::view_node(*table, input));
  std::sort(views.begin(), views.end(),
            [](const auto& l, const auto& r) { return hca_name_less(l.table->name, r.table->name); });
  const std::vector<PoolView> pools = doctor::make_pools(views);

  Diagnosis diagnosis;
  std::vector<Finding> findings;
  for (const NodeView& view : views) diagnosis.nodes.push_back(state_of(view, input));
  for (const PoolView& pool : pools) {
    diagnosis.pools.push_back(pool_of(pool));
    for (std::size_t i = 0; i < pool.nodes.size(); ++i) {
      NodeState& state = diagnosis.nodes[static_cast<std::size_t>(pool.nodes[i] - views.data())];
      state.pool = pool.name;
      state.expected = pool.expected();
      state.rail_ports = rail_ports(pool, i);
    }
    doctor::Report report(pool, input, findings);
    doctor::check_node(report);
    doctor::check_presence(report);
    doctor::check_speed(report);
    doctor::check_index(report);
    doctor::check_drift(report);
    doctor::check_subnets(report);
  }
  doctor::check_duplicates(pools, input, findings);
  for (const NodeView& view : views) {
    if (view.parts.empty())
      findings.push_back(
          {Code::NoFabric, Severity::Info, of_node(view.table->name), "its table holds no RDMA hardware"});
  }
  add_findings(std::move(findings), diagnosis);
  return diagnosis;
}

void add_findings(std::vector<Finding> more, Diagnosis& into) {
  into.findings.insert(into.findings.end(), std::make_move_iterator(more.begin()),
                       std::make_move_iterator(more.end()));
  std::stable_sort(into.findings.begin(), into.findings.end(), more_urgent);
}

}  // namespace nccl_env
