// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/port_history.h"

namespace nccl_env::node {

void PortHistory::resume(const NodeFabric& earlier, const std::optional<std::string>& boot_id) {
  if (!boot_id || earlier.boot_id != boot_id) return;
  for (const Port& port : earlier.ports) {
    if (port.state) records_.insert_or_assign({port.hca, port.number}, Record{*port.state, port.state_since});
  }
}

void PortHistory::note(NodeFabric& table, Timestamp now) {
  std::map<std::pair<std::string, int>, Record> noted;
  for (Port& port : table.ports) {
    const std::pair key{port.hca, port.number};
    const auto before = records_.find(key);
    if (!port.state) {
      if (before != records_.end()) noted.insert(*before);
      continue;
    }
    if (before == records_.end()) {
      noted.emplace(key, Record{*port.state, {}});
      continue;
    }
    const bool same = before->second.state == *port.state;
    port.state_since = same ? before->second.since : now;
    noted.emplace(key, Record{*port.state, port.state_since});
  }
  records_ = std::move(noted);
}

}  // namespace nccl_env::node
