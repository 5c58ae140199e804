// SPDX-License-Identifier: Apache-2.0
// Real queue pairs. Link nccl_env::libibverbs for them.
#pragma once

#include "nccl_env/packets/queue_pair.h"

namespace nccl_env::packets {

// Belongs to one thread; devices stay open as long as it lives.
MakeQueuePair open_libibverbs();

}  // namespace nccl_env::packets
