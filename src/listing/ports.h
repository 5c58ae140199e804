// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "facts.h"

namespace nccl_env::listing {

// Returns the ports in the order in which the listing names them.
std::vector<Port> make_ports(const Facts& facts);

}  // namespace nccl_env::listing
