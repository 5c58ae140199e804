// SPDX-License-Identifier: Apache-2.0
// UCX 1.13 to 1.22, as NIXL, Open MPI and HPC-X use it.
#include "engines/ucx/ucx.h"

#include <algorithm>
#include <array>

namespace nccl_env::engines::ucx {
namespace {

constexpr std::string_view kNetDevices = "UCX_NET_DEVICES";
constexpr std::array<std::string_view, 1> kAuto{"auto"};

constexpr std::size_t kLongestLine = 199;  // INI_MAX_LINE (src/ucs/config/ini.h) without its end
constexpr std::size_t kMostNames = 64;     // UCX aborts with more

// A list of RDMA devices alone takes UCX's TCP transport away, and with UCX_TLS=tcp UCX does not start.
EngineValue net_devices(const EngineChoice& choice) {
  if (choice.ports.empty()) return {};
  if (choice.tcp_interface.empty())
    return {{}, "UCX's list needs an interface beside the ports, and none is known."};
  const std::string list = join_ports(choice) + "," + choice.tcp_interface;
  if (choice.ports.size() >= kMostNames || kNetDevices.size() + 1 + list.size() > kLongestLine)
    return {{}, "UCX cuts a line of ucx.conf at 199 bytes, and this list is longer."};
  return {list};
}

constexpr EngineVariable kVariables[] = {
    {.row = {.name = kNetDevices,
             .kind = ValueKind::DeviceList,
             .ranks = Ranks::Node,
             .note =
                 "exact names, DEVICE:PORT and interfaces side by side: a list without an interface turns "
                 "TCP off, and an empty one every network"},
     .follows = Follows::Ports,
     .render = net_devices},
    {.row = {.name = "UCX_IB_GID_INDEX",
             .kind = ValueKind::Integer,
             .max = 255,
             .choices = kAuto,
             .ranks = Ranks::Node,
             .note =
                 "one row for all devices, and UCX stops where a device lacks it; by itself it takes a row "
                 "that carries traffic, port by port"}},
    {.row =
         {.name = "UCX_IB_ROCE_SUBNETS",
          .kind = ValueKind::Text,
          .ranks = Ranks::Fabric,
          .note =
              "ADDRESS/PREFIX,...: only rows inside one of them, and UCX stops where a device has none; from "
              "1.18 on"}},
    traffic_class_row("UCX_IB_TRAFFIC_CLASS", kAuto),
    service_level_row("UCX_IB_SL", kAuto),
    {.row = {.name = "UCX_TLS",
             .kind = ValueKind::Text,
             .ranks = Ranks::Equal,
             .note = "transports, such as rc,tcp; a list without tcp has none that needs no HCA"}},
};

// GPU-initiated transfers (rc_gda, from 1.20 on) have devices of their own, which nobody can name here.
constexpr EngineMember kDeviceGroup[] = {
    {kNetDevices}, {"UCX_TLS", "gda"}, {"UCX_RC_GDA_*"}, {"nixl_ep", {}, true}};
constexpr EngineMember kLevelGroup[] = {{"UCX_IB_SL"}, {"UCX_IB_AR_ENABLE"}};
constexpr EngineGroup kGroups[] = {{kDeviceGroup, "decides the devices of UCX"},
                                   {kLevelGroup, "decides the service level of UCX"}};

// A port's name in UCX's list; without a port since 1.21.
bool names_port(std::string_view entry, const Port& port) {
  return entry == port.hca + ":" + std::to_string(port.number) || entry == port.hca;
}

EngineSelection select(const NodeFabric& table, const NcclEnv& env) {
  EngineSelection selection;
  const auto given = nccl_getenv(env, kNetDevices);
  const bool excludes = given && given->starts_with('^');  // from 1.21 on
  std::vector<std::string_view> entries;
  if (given) entries = entries_of(excludes ? given->substr(1) : *given);
  const auto listed = [&](const auto& is_named) {
    return !given || *given == "all" || std::any_of(entries.begin(), entries.end(), is_named) != excludes;
  };
  for (const Port* port : usable_ports(table)) {
    if (listed([&](std::string_view entry) { return names_port(entry, *port); }))
      selection.devices.push_back(port->hca + ":" + std::to_string(port->number));
  }
  for (std::string& name : usable_interfaces(table)) {
    if (listed([&](std::string_view entry) { return entry == name; }))
      selection.interfaces.push_back(std::move(name));
  }
  for (const std::string_view entry : given == "all" ? std::vector<std::string_view>() : entries) {
    const bool port = std::any_of(table.ports.begin(), table.ports.end(),
                                  [&](const Port& one) { return names_port(entry, one); });
    const bool interface =
        !table.interfaces || std::any_of(table.interfaces->begin(), table.interfaces->end(),
                                         [&](const Interface& one) { return one.name == entry; });
    if (!port && (!interface || entry.find(':') != entry.npos))
      selection.notes.push_back("UCX finds no network device " + std::string(entry) + " here.");
  }
  if (given && selection.devices.empty()) selection.notes.emplace_back("UCX gets no RDMA device.");
  if (table.interfaces && selection.interfaces.empty())
    selection.notes.emplace_back("UCX gets no interface for TCP.");
  return selection;
}

constexpr Engine kEngine{.name = "UCX",
                         .used_by = "NIXL, Open MPI, HPC-X",
                         .variables = kVariables,
                         .groups = kGroups,
                         .file = "ucx.conf",
                         .folder_variable = "UCX_CONFIG_DIR",
                         .longest_line = kLongestLine,
                         .select = select};

}  // namespace

const Engine& engine() {
  return kEngine;
}

}  // namespace nccl_env::engines::ucx
