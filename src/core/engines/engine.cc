// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/engines/engine.h"

#include <algorithm>

namespace nccl_env {

EngineValue traffic_class_of(const EngineChoice& choice) {
  return {choice.traffic_class};
}

EngineValue service_level_of(const EngineChoice& choice) {
  return {choice.service_level};
}

bool gives_values(const Engine& engine) {
  return std::any_of(engine.variables.begin(), engine.variables.end(),
                     [](const EngineVariable& variable) { return variable.render != nullptr; });
}

std::string join_ports(const EngineChoice& choice) {
  std::string out;
  for (const EnginePort& port : choice.ports)
    out.append(out.empty() ? "" : ",").append(port.hca).append(":").append(std::to_string(port.number));
  return out;
}

bool is_member(const EngineGroup& group, std::string_view variable, std::optional<std::string_view> value) {
  return std::any_of(group.members.begin(), group.members.end(), [&](const EngineMember& member) {
    if (!variable.starts_with(member.name.front())) return false;  // nearly every variable of a container
    const bool named = member.name.ends_with('*')
                           ? variable.starts_with(member.name.substr(0, member.name.size() - 1))
                           : variable == member.name;
    return named && !member.in_command &&
           (member.text.empty() || !value || value->find(member.text) != value->npos);
  });
}

const EngineGroup* group_of(const Engine& engine, std::string_view variable) {
  for (const EngineGroup& group : engine.groups) {
    if (is_member(group, variable, std::nullopt)) return &group;
  }
  return nullptr;
}

std::vector<const Port*> usable_ports(const NodeFabric& table) {
  std::vector<const Port*> ports;
  for (const Port& port : table.ports) {
    if (!port.unavailable && port.state.value_or(PortState::Active) == PortState::Active)
      ports.push_back(&port);
  }
  return ports;
}

std::vector<std::string> usable_interfaces(const NodeFabric& table) {
  std::vector<std::string> names;
  if (!table.interfaces) return names;
  for (const Interface& interface : *table.interfaces) {
    if (interface.name != "lo" && interface.up != false) names.push_back(interface.name);
  }
  return names;
}

std::vector<std::string_view> entries_of(std::string_view list) {
  std::vector<std::string_view> entries;
  for (bool more = true; more && !list.empty();) entries.push_back(cut_entry(list, ',', more));
  return entries;
}

}  // namespace nccl_env
