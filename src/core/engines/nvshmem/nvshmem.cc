// SPDX-License-Identifier: Apache-2.0
// NVSHMEM 3.2 to 3.8: the transports IBRC and IBGDA, as DeepEP and PyTorch's symmetric memory use them.
#include "engines/nvshmem/nvshmem.h"

#include <algorithm>

#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env::engines::nvshmem {
namespace {

constexpr std::string_view kHcaPrefix = "NVSHMEM_HCA_PREFIX";
constexpr std::string_view kDefaultPrefix = "mlx5";
constexpr std::string_view kFamilies[] = {"AF_INET", "AF_INET6"};
// The smallest number of names that a release reads (MAX_NUM_HCAS).
constexpr std::size_t kMaxHcas = 16;

EngineValue hca_list(const EngineChoice& choice) {
  if (choice.ports.size() > kMaxHcas) return {{}, "NVSHMEM reads no more than 16 names."};
  return {join_ports(choice)};
}

// NVSHMEM skips a device without this text in its name, so that one with other names needs what they share.
EngineValue hca_prefix(const EngineChoice& choice) {
  if (choice.ports.empty() || choice.ports.size() > kMaxHcas) return {};
  const auto is_default = [](const EnginePort& port) {
    return port.hca.find(kDefaultPrefix) != std::string::npos;
  };
  if (std::all_of(choice.ports.begin(), choice.ports.end(), is_default)) return {};
  std::string_view shared = choice.ports.front().hca;
  for (const EnginePort& port : choice.ports) {
    const auto end = std::mismatch(shared.begin(), shared.end(), port.hca.begin(), port.hca.end()).first;
    shared = shared.substr(0, static_cast<std::size_t>(end - shared.begin()));
  }
  return {std::string(shared)};
}

// No NVSHMEM_IB_GID_INDEX=-1 beside the list: 3.2.5 and 3.8.0 take the same devices and rows with it and
// without (tests/readers, run in November 2026), since 3.8's filter asks for NVSHMEM_ENABLE_NIC_PE_MAPPING
// alone. It would only hide an image's own index.
constexpr EngineVariable kVariables[] = {
    {.row = {.name = variable::kNvshmemHcaList,
             .kind = ValueKind::DeviceList,
             .max = 16,
             .empty_is_unset = true,
             .ranks = Ranks::Node,
             .note = "exact names; 3.8.0 heeds the list only with NVSHMEM_ENABLE_NIC_PE_MAPPING=1"},
     .follows = Follows::Ports,
     .render = hca_list},
    {.row =
         {.name = kHcaPrefix,
          .kind = ValueKind::Text,
          .ranks = Ranks::Node,
          .note =
              "a text that the name of a device has to contain; mlx5 unless it is set. IBGDA heeds it, and "
              "IBRC from 3.8 on"},
     .follows = Follows::Ports,
     .render = hca_prefix},
    {.row = {.name = "NVSHMEM_HCA_PE_MAPPING",
             .kind = ValueKind::Text,
             .empty_is_unset = true,
             .ranks = Ranks::Node,
             .note = "NAME:PORT:COUNT,...: how many ranks take which port, in their order"}},
    {.row = {.name = "NVSHMEM_ENABLE_NIC_PE_MAPPING",
             .kind = ValueKind::Integer,
             .max = 1,
             .ranks = Ranks::Node,
             .note = "1 deals the devices out in turn, whatever the distance to the GPU"}},
    {.row = {.name = "NVSHMEM_IB_GID_INDEX",
             .kind = ValueKind::Integer,
             .min = -1,
             .max = 255,
             .ranks = Ranks::Node,
             .note = "one row for all devices; a negative one searches, and an empty one is row 0"}},
    traffic_class_row("NVSHMEM_IB_TRAFFIC_CLASS"),
    service_level_row("NVSHMEM_IB_SL"),
    {.row = {.name = "NVSHMEM_IB_ADDR_FAMILY",
             .kind = ValueKind::Enum,
             .choices = kFamilies,
             .ranks = Ranks::Fabric,
             .note = "as NCCL_IB_ADDR_FAMILY"}},
    {.row = {.name = "NVSHMEM_IB_ADDR_RANGE",
             .kind = ValueKind::Cidr,
             .ranks = Ranks::Node,
             .note = "as NCCL_IB_ADDR_RANGE"}},
    {.row = {.name = "NVSHMEM_IB_ROCE_VERSION_NUM",
             .kind = ValueKind::Integer,
             .min = 1,
             .max = 2,
             .ranks = Ranks::Fabric,
             .note = "as NCCL_IB_ROCE_VERSION_NUM"}},
    {.row = {.name = "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME",
             .kind = ValueKind::InterfaceList,
             .empty_is_unset = true,
             .ranks = Ranks::Node,
             .note = "as NCCL_SOCKET_IFNAME, in the same grammar"},
     .follows = Follows::Interface,
     .render =
         [](const EngineChoice& choice) {
           return EngineValue{choice.interface.empty() ? std::string() : "=" + choice.interface};
         }},
};

// PyTorch copies NCCL's list for NVSHMEM where that has none of its own.
constexpr EngineMember kDeviceGroup[] = {
    {"NVSHMEM_HCA_*"}, {"NVSHMEM_ENABLE_NIC_PE_MAPPING"}, {variable::kIbHca}};
constexpr EngineGroup kGroups[] = {{kDeviceGroup, "decides the devices of NVSHMEM"}};

EngineSelection select(const NodeFabric& table, const NcclEnv& env) {
  EngineSelection selection;
  std::string_view list = nccl_getenv_or_empty(env, variable::kNvshmemHcaList);
  const bool excludes = list.starts_with('^');
  if (excludes) list.remove_prefix(1);
  const std::vector<std::string_view> entries = entries_of(list);
  const std::string_view prefix = nccl_getenv(env, kHcaPrefix).value_or(kDefaultPrefix);
  std::size_t skipped = 0;
  for (const Port* port : usable_ports(table)) {
    const std::string name = port->hca + ":" + std::to_string(port->number);
    const bool listed =
        entries.empty() || std::any_of(entries.begin(), entries.end(), [&](std::string_view entry) {
                             return entry == name || entry == port->hca;
                           }) != excludes;
    if (!listed) continue;
    selection.devices.push_back(name);
    skipped += port->hca.find(prefix) == std::string::npos;
  }
  if (skipped > 0) {
    const bool set = nccl_getenv(env, kHcaPrefix).has_value();
    selection.notes.push_back((set ? "IBGDA, and IBRC from 3.8 on, skip " : "IBGDA skips ") +
                              count_of(skipped, "port") + " without " + std::string(prefix) +
                              " in the name.");
  }
  if (selection.devices.empty())
    selection.notes.emplace_back("NVSHMEM finds no device, and its transport fails.");
  return selection;
}

constexpr Engine kEngine{.name = "NVSHMEM",
                         .used_by = "DeepEP, PyTorch's symmetric memory",
                         .variables = kVariables,
                         .groups = kGroups,
                         .select = select};

}  // namespace

const Engine& engine() {
  return kEngine;
}

}  // namespace nccl_env::engines::nvshmem
