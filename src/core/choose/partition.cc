// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/choose/partition.h"

#include <algorithm>
#include <iterator>

#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/fabric/port_facts.h"

namespace nccl_env {
namespace {

constexpr unsigned kFullMember = 0x8000;

bool has_key(const Port& port, int index, std::uint16_t key, bool full) {
  const auto fits = [&](const PartitionKey& entry) {
    return entry.index == index && ((entry.key ^ key) & 0x7fffU) == 0 &&
           (!full || (entry.key & kFullMember) != 0);
  };
  return std::any_of(port.pkeys->begin(), port.pkeys->end(), fits);
}

// The lowest index at which every port has the key.
std::optional<int> common_index(const std::vector<const Port*>& ports, std::uint16_t key, bool full) {
  for (const PartitionKey& entry : *ports.front()->pkeys) {
    const auto has = [&](const Port* port) { return has_key(*port, entry.index, key, full); };
    if (std::all_of(ports.begin(), ports.end(), has)) return entry.index;
  }
  return std::nullopt;
}

std::string places_of(const Port& port, std::uint16_t key) {
  std::string text;
  for (const PartitionKey& entry : *port.pkeys) {
    if (((entry.key ^ key) & 0x7fffU) != 0) continue;
    text += " " + std::to_string(entry.index);
    if ((entry.key & kFullMember) == 0) text += " (limited)";
  }
  return port.hca + " has it at" + (text.empty() ? " none" : text);
}

}  // namespace

PartitionChoice choose_partition(const NodeFabric& table, const std::vector<const Port*>& ports,
                                 std::uint16_t key) {
  if (link_layer_of(*ports.front()).value_or(LinkLayer::InfiniBand) != LinkLayer::InfiniBand)
    return {std::nullopt, Reason::OmittedByPolicy,
            "The policy's partition is of InfiniBand, and the ports are not."};
  std::vector<const Port*> unknown;
  std::copy_if(ports.begin(), ports.end(), std::back_inserter(unknown),
               [](const Port* port) { return !port->pkeys; });
  if (!unknown.empty()) {
    return {std::nullopt, Reason::PKeyUnknown,
            "The partition tables of " + format_hca_list(table, unknown).substr(1) + " are not known."};
  }
  auto index = common_index(ports, key, true);
  if (!index && (key & kFullMember) == 0) index = common_index(ports, key, false);
  if (index) return {index, std::nullopt, {}};
  std::string text = "No index names " + format_partition_key(key) + " on every port: ";
  for (const Port* port : ports) text += (port == ports.front() ? "" : ", ") + places_of(*port, key);
  return {std::nullopt, Reason::PKeyNotUniform, text + "."};
}

}  // namespace nccl_env
