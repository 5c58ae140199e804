// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "facts.h"

namespace nccl_env::listing {

// Returns the ports in the order in which the listing names them. Tells of rows that could not be read.
std::vector<Port> make_ports(Facts& facts);

}  // namespace nccl_env::listing
