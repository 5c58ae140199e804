// SPDX-License-Identifier: Apache-2.0
// The real Verbs. Link nccl_env::libibverbs for it.
#pragma once

#include <memory>

#include "nccl_env/packets/verbs.h"

namespace nccl_env::packets {

std::unique_ptr<Verbs> open_libibverbs();

}  // namespace nccl_env::packets
