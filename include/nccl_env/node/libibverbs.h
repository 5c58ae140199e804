// SPDX-License-Identifier: Apache-2.0
// The real Verbs. Link nccl_env::libibverbs for it; nothing else of ours needs the library.
#pragma once

#include <memory>

#include "nccl_env/node/verbs.h"

namespace nccl_env::node {

std::unique_ptr<Verbs> open_libibverbs();

}  // namespace nccl_env::node
