// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/probe.h"

#include "dcb.h"
#include "nccl_env/node/make_table.h"
#include "nccl_env/node/netdevs.h"
#include "nccl_env/node/verbs_rows.h"
#include "sysfs_values.h"

namespace nccl_env::node {
namespace {

// Mb/s; -1 is "unknown", and an interface that is down does not answer (EINVAL).
std::optional<double> speed_gbps(const Sysfs& sysfs, const std::string& netdev) {
  constexpr int kMaxMbps = 100'000'000;
  const auto text = sysfs.read("class/net/" + netdev + "/speed");
  const auto speed = text ? parse_number(*text, kMaxMbps) : std::nullopt;
  return speed && *speed > 0 ? std::optional(*speed / 1000.0) : std::nullopt;
}

Netdevs find_netdevs(const ProbeOptions& options, Problems& problems) {
  if (options.captured) return read_netdevs(*options.sysfs);
  auto netdevs = read_netdevs();
  if (netdevs) return std::move(*netdevs);
  problems.push_back("interfaces: " + netdevs.error().message);
  return {};
}

}  // namespace

ProbeResult probe(const ProbeOptions& options) {
  ProbeResult result;
  // Rows first: an address that comes between the two reads makes an event, and a new probe.
  std::vector<RdmaDevice> devices = read_devices(*options.sysfs, result.problems, options.captured);
  if (options.verbs) {
    if (const Status added = add_verbs(devices, *options.verbs, result.problems); !added)
      result.sysfs_alone = added.error().message;
  }
  const Netdevs netdevs = find_netdevs(options, result.problems);
  result.table = make_table(
      {devices, netdevs, [&](const std::string& netdev) { return speed_gbps(*options.sysfs, netdev); },
       options.node_address, options.all_interfaces},
      result.problems);
  if (!options.captured) read_dcb(result.table);
  if (!options.captured && !devices.empty()) {
    if (const auto mode = read_namespace_mode()) {
      result.table.rdma_namespace_mode = *mode;
    } else {
      result.problems.push_back("namespace mode: " + mode.error().message);
    }
  }
  return result;
}

}  // namespace nccl_env::node
