// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/verbs_rows.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "sysfs_values.h"

namespace nccl_env::node {
namespace {

// The value that a number of libibverbs stands for.
template <class Value, std::size_t N>
std::optional<Value> value_in(const std::array<std::pair<unsigned, Value>, N>& known, unsigned number) {
  for (const auto& [each, value] : known) {
    if (each == number) return value;
  }
  return std::nullopt;
}
template <class Value>
using Known = std::pair<unsigned, Value>;

// Gb/s of one lane, by the InfiniBand Architecture's encoding of active_speed: SDR, DDR, QDR, FDR10 (10.3125,
// which the kernel prints as 10), FDR (14.0625, printed as 14), EDR, HDR; NDR, and all that is faster.
constexpr unsigned kNdr = 128;
constexpr std::array kLaneGbps{Known<double>{1, 2.5}, Known<double>{2, 5},     Known<double>{4, 10},
                               Known<double>{8, 10},  Known<double>{16, 14},   Known<double>{32, 25},
                               Known<double>{64, 50}, Known<double>{kNdr, 100}};
constexpr std::array kLanes{Known<int>{1, 1}, Known<int>{2, 4}, Known<int>{4, 8}, Known<int>{8, 12},
                            Known<int>{16, 2}};
constexpr std::array kLinkLayers{Known<LinkLayer>{0, LinkLayer::Unspecified},
                                 Known<LinkLayer>{1, LinkLayer::InfiniBand},
                                 Known<LinkLayer>{2, LinkLayer::Ethernet}};
constexpr std::array kGidTypes{Known<GidType>{0, GidType::IB}, Known<GidType>{1, GidType::RoCEv1},
                               Known<GidType>{2, GidType::RoCEv2}};

// Where sysfs prints SDR, verbs says whether the speed is SDR. NDR in verbs may be any speed that the
// kernel cuts to NDR.
void add_rate(DevicePort& port, const VerbsPortAttributes& attributes) {
  if (port.rate_gbps) return;
  const auto lane = value_in(kLaneGbps, attributes.active_speed);
  const auto count = value_in(kLanes, attributes.active_width);
  if (lane && count && attributes.active_speed != kNdr) port.rate_gbps = *lane * *count;
}

void add_port(DevicePort& port, const VerbsPortAttributes& attributes) {
  if (const auto state = parse_state(attributes.state)) port.state = state;
  if (!port.link_layer) port.link_layer = value_in(kLinkLayers, static_cast<unsigned>(attributes.link_layer));
  // enum ibv_mtu: 1 is 256, 5 is 4096.
  if (attributes.active_mtu >= 1 && attributes.active_mtu <= 5)
    port.active_mtu = 128 << attributes.active_mtu;
  if (!port.gid_table_length && attributes.gid_table_length >= 0)
    port.gid_table_length = attributes.gid_table_length;
  add_rate(port, attributes);
}

// Replaces the rows of sysfs: a query shows all rows at one moment, while sysfs is read row by row.
void add_rows(RdmaDevice& device, const std::vector<VerbsGid>& rows) {
  for (DevicePort& port : device.ports) {
    std::vector<GidEntry> entries;
    for (const VerbsGid& row : rows) {
      if (row.port != port.number || row.gid.is_zero() || row.index < 0) continue;
      entries.push_back({row.index, row.gid, value_in(kGidTypes, row.type), {}, {}});
      if (row.ifindex != 0) entries.back().ifindex = row.ifindex;
    }
    std::ranges::stable_sort(entries, {}, &GidEntry::index);
    port.entries = std::move(entries);
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
  const auto found = std::ranges::find(listed, name, [](const auto& device) { return device->name(); });
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
    const auto context = open(device.shared.hca, *listed);
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
