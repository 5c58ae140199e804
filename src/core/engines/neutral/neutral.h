// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nccl_env/core/engines/engine.h"

namespace nccl_env::engines::neutral {

const Engine& engine();

}  // namespace nccl_env::engines::neutral
