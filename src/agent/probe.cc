// SPDX-License-Identifier: Apache-2.0
#include "probe.h"

#include <unistd.h>

#include <fstream>
#include <utility>

#include "nccl_env/core/text/strict.h"
#include "nccl_env/program/version.h"

namespace nccl_env::agent {
namespace {

// Returns the host's name in lower case, as the kubelet does.
std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return lower_case(name);
}

std::optional<std::string> read_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  if (!std::getline(file, id) || id.size() != 36) return std::nullopt;
  return id;
}

}  // namespace

NodeProbe::NodeProbe(const ProbeArguments& arguments, node::Verbs& verbs)
    : arguments_(arguments),
      verbs_(verbs),
      sysfs_(node::open_sysfs(arguments.sysfs.empty() ? "/sys" : arguments.sysfs)),
      node_name_(arguments.node_name.empty() ? host_name() : arguments.node_name),
      node_address_(arguments.node_address) {
  if (arguments.sysfs.empty()) boot_id_ = read_boot_id();
}

bool NodeProbe::set_node(const TableStore::NodeFacts& node) {
  const bool moved = !arguments_.node_address && node.address && node.address != node_address_;
  if (moved) node_address_ = node.address;
  const bool updated = std::exchange(kubelet_version_, node.kubelet_version) != node.kubelet_version;
  return std::exchange(node_labels_, node.labels) != node.labels || moved || updated;
}

node::ProbeResult NodeProbe::read(Timestamp now) const {
  node::ProbeOptions options;
  options.sysfs = sysfs_.get();
  options.captured = !arguments_.sysfs.empty();
  if (arguments_.use_verbs && !options.captured) options.verbs = &verbs_;
  options.node_address = node_address_;
  node::ProbeResult result = node::probe(options);
  result.table.name = node_name_;
  result.table.time = now;
  result.table.boot_id = boot_id_;
  result.table.agent_version = program::kVersion;
  result.table.kubelet_version = kubelet_version_;
  result.table.node_labels = node_labels_;
  return result;
}

}  // namespace nccl_env::agent
