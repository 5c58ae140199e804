// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/verbs_rows.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "sysfs_values.h"

namespace nccl_env::node {
namespace {

// Gb/s of one lane; the InfiniBand Architecture's encoding of active_speed.
std::optional<double> lane_gbps(unsigned speed) {
  switch (speed) {
    case 1:
      return 2.5;  // SDR
    case 2:
      return 5;  // DDR
    case 4:
      return 10;  // QDR
    case 8:
      return 10;  // FDR10: 10.3125, which the kernel prints as 10
    case 16:
      return 14;  // FDR: 14.0625, printed as 14
    case 32:
      return 25;  // EDR
    case 64:
      return 50;  // HDR
    case 128:
      return 100;  // NDR, and all that is faster
    default:
      return std::nullopt;
  }
}

std::optional<int> lanes(unsigned width) {
  switch (width) {
    case 1:
      return 1;
    case 2:
      return 4;
    case 4:
      return 8;
    case 8:
      return 12;
    case 16:
      return 2;
    default:
      return std::nullopt;
  }
}

std::optional<LinkLayer> link_layer_of_verbs(int number) {
  switch (number) {
    case 0:
      return LinkLayer::Unspecified;
    case 1:
      return LinkLayer::InfiniBand;
    case 2:
      return LinkLayer::Ethernet;
    default:
      return std::nullopt;
  }
}

std::optional<GidType> gid_type_of_verbs(unsigned number) {
  switch (number) {
    case 0:
      return GidType::IB;
    case 1:
      return GidType::RoCEv1;
    case 2:
      return GidType::RoCEv2;
    default:
      return std::nullopt;
  }
}

// Where sysfs prints SDR, verbs says whether it is. NDR there may be anything that the kernel cuts to it.
void add_rate(DevicePort& port, const VerbsPortAttributes& attributes) {
  if (port.rate_gbps) return;
  const auto lane = lane_gbps(attributes.active_speed);
  const auto count = lanes(attributes.active_width);
  constexpr unsigned kNdr = 128;
  if (lane && count && attributes.active_speed != kNdr) port.rate_gbps = *lane * *count;
}

void add_port(DevicePort& port, const VerbsPortAttributes& attributes) {
  if (const auto state = parse_state(attributes.state)) port.state = state;
  if (!port.link_layer) port.link_layer = link_layer_of_verbs(attributes.link_layer);
  // enum ibv_mtu: 1 is 256, 5 is 4096.
  if (attributes.active_mtu >= 1 && attributes.active_mtu <= 5)
    port.active_mtu = 128 << attributes.active_mtu;
  if (!port.gid_table_length && attributes.gid_table_length >= 0)
    port.gid_table_length = attributes.gid_table_length;
  add_rate(port, attributes);
}

// One query is one moment, where sysfs is read row by row: it replaces what sysfs said.
void add_rows(RdmaDevice& device, const std::vector<VerbsGid>& rows) {
  for (DevicePort& port : device.ports) {
    std::vector<GidEntry> entries;
    for (const VerbsGid& row : rows) {
      if (row.port != port.number || row.gid.is_zero() || row.index < 0) continue;
      entries.push_back({row.index, row.gid, gid_type_of_verbs(row.type), {}, {}});
      if (row.ifindex != 0) entries.back().ifindex = row.ifindex;
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const GidEntry& a, const GidEntry& b) { return a.index < b.index; });
    port.gids = std::move(entries);
  }
}

void add_device(RdmaDevice& device, VerbsContext& context, Problems& problems) {
  for (DevicePort& port : device.ports) {
    const auto attributes = context.query_port(port.number);
    if (attributes) {
      add_port(port, *attributes);
    } else {
      problems.push_back(attributes.error().message);
    }
  }
  const auto rows = context.query_gid_table();
  if (rows) {
    add_rows(device, *rows);
  } else {
    problems.push_back(rows.error().message);
  }
}

using ListedDevices = std::vector<std::unique_ptr<VerbsDevice>>;

Result<std::unique_ptr<VerbsContext>> open(const std::string& name, const ListedDevices& listed) {
  const auto found =
      std::find_if(listed.begin(), listed.end(), [&](const auto& device) { return device->name() == name; });
  if (found == listed.end()) return Error{name + ": libibverbs does not list it (is /dev/infiniband there?)"};
  return (*found)->open();
}

}  // namespace

Status add_verbs(std::vector<RdmaDevice>& devices, Verbs& verbs, Problems& problems) {
  if (devices.empty()) return done();
  const auto listed = verbs.list();
  if (!listed) return listed.error();
  Problems unopened;
  for (RdmaDevice& device : devices) {
    const auto context = open(device.name, *listed);
    if (context) {
      add_device(device, **context, problems);
    } else {
      unopened.push_back(context.error().message);
    }
  }
  if (unopened.size() == devices.size()) return Error{unopened.front()};
  problems.insert(problems.end(), unopened.begin(), unopened.end());
  return done();
}

}  // namespace nccl_env::node
