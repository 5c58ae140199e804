// SPDX-License-Identifier: Apache-2.0
#include "explain/nccl_in_pod.h"

#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/nccl/environment.h"
#include "nccl_env/core/nccl/select.h"
#include "nccl_env/core/nccl/version.h"

namespace nccl_env {

NodeFabric seen_in_pod(const NodeFabric& table, Exposure exposure, bool host_network) {
  NodeFabric seen = table;
  if (!host_network) seen.interfaces.reset();
  if (exposure == Exposure::Host) return seen;
  for (Port& port : seen.ports) {
    port.link_layer = link_layer_of(port);
    if (port.link_layer == LinkLayer::InfiniBand) continue;  // every process sees these GIDs
    if (!port.transport && is_roce(port)) port.transport = Transport::RoCE;
    port.gids.reset();
    port.gid_table_length.reset();
  }
  return seen;
}

NcclSelection nccl_in_pod(const NodeFabric& seen, const NcclEnv& env, Exposure exposure, bool host_network,
                          const NcclVersion& version, const std::vector<std::string>& notes) {
  const bool own_rows = exposure == Exposure::SubInterface;
  NcclSelection selection = nccl_select(seen, env, version, {!own_rows, host_network});
  if (own_rows && selection.needs_rows) {
    selection.notes.emplace_back(
        "The pod's sub-interface has GID rows of its own, which are not known before it starts.");
  }
  selection.notes.insert(selection.notes.begin(), notes.begin(), notes.end());
  return selection;
}

std::string note_elsewhere(std::string_view variable) {
  return "The container takes " + std::string(variable) +
         " from elsewhere; its value is not known here and counts as unset.";
}

}  // namespace nccl_env
