// SPDX-License-Identifier: Apache-2.0
// Cards: several ports, functions and slots may be one.
#pragma once

#include <optional>

#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env {

// True for functions of one slot, and for ports of one system image, which a card in two slots has. Intel's
// irdma gives each port an image of its own. Absent if neither the images nor the addresses of both are
// known.
std::optional<bool> are_on_one_card(const Port& left, const Port& right);

}  // namespace nccl_env
