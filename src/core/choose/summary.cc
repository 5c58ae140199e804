// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/choose/summary.h"

#include <nlohmann/json.hpp>

#include "nccl_env/core/choose/ports.h"

namespace nccl_env {

FabricSummary summarize(const NodeFabric& table, Timestamp now) {
  FabricSummary summary;
  const PortChoice choice = choose_ports(table, {}, Exposure::Host, now);
  std::vector<const Port*> counted = choice.ports.empty() ? choice.fabric : choice.ports;
  if (!choice.ports.empty()) summary.hcas = format_hca_list(table, choice.ports);
  if (!counted.empty()) {
    summary.link_layer = link_layer_of(*counted.front());
  } else {
    for (const Port& port : table.ports) counted.push_back(&port);
  }
  for (const Port* port : counted) summary.active_ports += port->state == PortState::Active ? 1 : 0;
  return summary;
}

nlohmann::ordered_json to_json(const NodeFabric& table, const FabricSummary& summary) {
  nlohmann::ordered_json json = to_json(table);
  nlohmann::ordered_json& into = json["observed"]["summary"] = {{"activePorts", summary.active_ports}};
  if (summary.link_layer) into["linkLayer"] = to_string(*summary.link_layer);
  if (!summary.hcas.empty()) into["hcas"] = summary.hcas;
  return json;
}

}  // namespace nccl_env
