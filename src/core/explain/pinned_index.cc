// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/pinned_index.h"

#include <algorithm>

#include "nccl/ports.h"
#include "nccl_env/core/fabric/port_facts.h"
#include "nccl_env/core/nccl/name_list.h"
#include "nccl_env/core/nccl/variables.h"
#include "nccl_env/core/nccl/version.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env {
namespace {

// A sentence stays readable where 256 ports are lost.
constexpr std::size_t kMostPortsNamed = 8;

// The index that came with the Binding.
std::optional<std::int64_t> index_of_binding(const GivenContainer& container) {
  const Value* given = container.find(variable::kIbGidIndex);
  const bool of_node =
      given && given->value && (given->is_from(Source::Node) || given->is_from(Source::File));
  return of_node ? nccl_integer(*given->value) : std::nullopt;
}

bool serves(const InterfaceIndex& interfaces, const Port& port, std::int64_t index) {
  return std::any_of(port.gids->begin(), port.gids->end(), [&](const GidRow& row) {
    if (row.index != index) return false;
    const RowVerdict verdict = judge_row(interfaces, row, {});
    return verdict.usable || !verdict.known;
  });
}

std::string new_place(const Port& port) {
  for (const GidRow& row : *port.gids) {
    if (!row.index_since) continue;
    return " (" + format_ip(row.address.value_or(row.gid.address())) + " has " + std::to_string(row.index) +
           " since " + format_timestamp(*row.index_since) + ")";
  }
  return {};
}

}  // namespace

std::string lost_index(const PodRecord& record, const NodeFabric& table) {
  const GivenContainer* container = record.main_container();
  if (!container || !record.status || record.status->exposure != Exposure::Host) return {};
  if (record.node != table.name || record.starts_itself()) return {};
  const auto index = index_of_binding(*container);
  const Value* hcas = container->find(variable::kIbHca);
  if (!index || !hcas || !hcas->value) return {};
  const NcclNameList list = parse_nccl_name_list(*hcas->value, kNewestNccl, nccl_max_hcas(kNewestNccl));
  const InterfaceIndex interfaces(table);
  std::vector<std::string> lost;
  for (const Port& port : table.ports) {
    const bool used =
        port.state == PortState::Active && is_roce(port) && port.gids && list.selects(port.hca, port.number);
    if (used && !serves(interfaces, port, *index)) lost.push_back(port.hca + new_place(port));
  }
  if (lost.empty()) return {};
  return "GID index " + std::to_string(*index) + " is gone from " + join_some(lost, kMostPortsNamed);
}

}  // namespace nccl_env
