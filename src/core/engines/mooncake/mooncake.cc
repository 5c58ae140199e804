// SPDX-License-Identifier: Apache-2.0
// Mooncake's transfer engine and its store, as SGLang and vLLM use them between prefill and decode.
#include "engines/mooncake/mooncake.h"

#include <algorithm>

#include "nccl_env/core/engines/nccl/variables.h"

namespace nccl_env::engines::mooncake {
namespace {

constexpr std::string_view kFilters = "MC_TE_FILTERS";
constexpr std::string_view kGidIndex = "MC_GID_INDEX";

// The filter names no port: Mooncake takes the one that MC_IB_PORT names of every device, the first as a
// rule.
EngineValue filters(const EngineChoice& choice) {
  for (const EnginePort& port : choice.ports) {
    if (port.number != 1) return {{}, "Mooncake takes port 1 of every device, and these are others."};
  }
  return {join_devices(choice)};
}

constexpr EngineVariable kVariables[] = {
    {.row = {.name = kFilters,
             .kind = ValueKind::NameList,
             .empty_is_unset = true,
             .ranks = Ranks::Node,
             .note = "exact names of devices, without ports; from 0.3.12 on"},
     .follows = Follows::Ports,
     .render = filters},
    {.row = {.name = kGidIndex,
             .kind = ValueKind::Integer,
             .max = 255,
             .ranks = Ranks::Node,
             .note = "one row for all devices; an empty one is row 0. Mooncake takes NCCL_IB_GID_INDEX where "
                     "this is not set"},
     .follows = Follows::Index,
     .render = [](const EngineChoice& choice) { return EngineValue{choice.index}; }},
    {.row = {.name = "MC_IB_PORT",
             .kind = ValueKind::Integer,
             .min = 1,
             .max = 255,
             .ranks = Ranks::Node,
             .note = "one port number for all devices"}},
    traffic_class_row("MC_IB_TC"),
    service_level_row("MC_IB_SL"),
    {.row = {.name = "MC_MS_AUTO_DISC",
             .kind = ValueKind::Integer,
             .max = 1,
             .ranks = Ranks::Node,
             .note = "1: the store looks for its devices itself"}},
    {.row = {.name = "MC_MS_FILTERS",
             .kind = ValueKind::NameList,
             .empty_is_unset = true,
             .ranks = Ranks::Node,
             .note = "exact names of devices for the store, where MC_MS_AUTO_DISC is 1"}},
    {.row = {.name = "MOONCAKE_DEVICE",
             .kind = ValueKind::Text,
             .empty_is_unset = true,
             .ranks = Ranks::Node,
             .note = "devices of the store"}},
};

// Mooncake takes what the filter and a user's own choice have in common; where that is nothing, it goes by
// TCP and does not say so.
constexpr EngineMember kDeviceGroup[] = {
    {kFilters},          {"MC_TE_FILTERS_EXCLUDE"}, {"MC_MS_*"},
    {"MOONCAKE_DEVICE"}, {"MC_CUSTOM_TOPO_JSON"},   {"MC_FORCE_TCP"},
    {"MC_IB_PORT"},      {"ib-device", {}, true},   {"device_name", {}, true}};
constexpr EngineMember kIndexGroup[] = {{kGidIndex}, {variable::kIbGidIndex}};
constexpr EngineGroup kGroups[] = {{kDeviceGroup, "decides the devices of Mooncake"},
                                   {kIndexGroup, "decides Mooncake's row of the GID table"}};

EngineSelection select(const NodeFabric& table, const NcclEnv& env) {
  EngineSelection selection;
  const auto given = nccl_getenv_or_empty(env, kFilters);
  const std::vector<std::string_view> entries = entries_of(given);
  for (const Port* port : usable_ports(table)) {
    if (!entries.empty() && std::find(entries.begin(), entries.end(), port->hca) == entries.end()) continue;
    if (std::find(selection.devices.begin(), selection.devices.end(), port->hca) == selection.devices.end())
      selection.devices.push_back(port->hca);
  }
  if (selection.devices.empty()) selection.notes.emplace_back("Mooncake finds no device.");
  auto index = nccl_getenv(env, kGidIndex);
  if (!index) index = nccl_getenv(env, variable::kIbGidIndex);
  if (index && index->empty()) selection.notes.emplace_back("Mooncake reads an empty index as row 0.");
  return selection;
}

constexpr Engine kEngine{.name = "Mooncake",
                         .used_by = "SGLang and vLLM between prefill and decode",
                         .variables = kVariables,
                         .groups = kGroups,
                         .select = select};

}  // namespace

const Engine& engine() {
  return kEngine;
}

}  // namespace nccl_env::engines::mooncake
