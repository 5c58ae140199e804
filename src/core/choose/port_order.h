// SPDX-License-Identifier: Apache-2.0
// The order of ports in a list.
#pragma once

#include <vector>

#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env {

// PCI order where that is known for all, else names with numbers as numbers and case folded.
void sort_for_output(std::vector<const Port*>& ports);

}  // namespace nccl_env
