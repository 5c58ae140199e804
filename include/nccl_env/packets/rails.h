// SPDX-License-Identifier: Apache-2.0
// The ports that a NCCL process of this container would use, each tried without a peer.
#pragma once

#include <string>
#include <vector>

#include "nccl_env/core/engines/nccl/environment.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/packets/queue_pair.h"

namespace nccl_env::packets {

struct RailInputs {
  const NodeFabric& seen;  // with the rows of all namespaces, as NCCL sees them in sysfs
  const NodeFabric& own;   // with this namespace's rows and interfaces alone
  const NcclEnv& env;
  NcclVersion version = kNewestNccl;
};

struct OwnRails {
  std::vector<OwnRail> rails;      // in NCCL's order, at most kMaxProofRails
  std::vector<std::string> notes;  // of nccl_select()
};

// A port that is down is among them if NCCL_IB_HCA names it, or if it has a network: NCCL would silently pass
// it over. A link-local row is refused: it reaches nobody behind a router.
OwnRails find_rails(const RailInputs& inputs, const MakeQueuePair& make);

}  // namespace nccl_env::packets
