// SPDX-License-Identifier: Apache-2.0
// One look at this node, shared by show and run.
#pragma once

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/node/probe.h"
#include "options.h"
#include "table_store.h"

namespace nccl_env::agent {

class NodeProbe {
 public:
  // `verbs` is used unless the arguments rule it out; both must outlive the probe.
  NodeProbe(const ProbeArguments& arguments, node::Verbs& verbs);

  // The table with name, time, boot id and version.
  [[nodiscard]] node::ProbeResult read(Timestamp now) const;
  // Takes the Node's labels, its kubelet's version, and its InternalIP unless the arguments give one; true if
  // anything changed.
  bool set_node(const TableStore::NodeFacts& node);
  // Absent where a copy of sysfs is read.
  [[nodiscard]] const std::optional<std::string>& boot_id() const { return boot_id_; }

 private:
  const ProbeArguments& arguments_;
  node::Verbs& verbs_;
  std::unique_ptr<node::Sysfs> sysfs_;
  std::string node_name_;
  std::optional<IpAddress> node_address_;
  std::optional<std::vector<NodeLabel>> node_labels_;
  std::optional<std::string> kubelet_version_;
  std::optional<std::string> boot_id_;
};

}  // namespace nccl_env::agent
