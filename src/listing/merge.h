// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "facts.h"

namespace nccl_env::listing {

// One Port per HCA and port, in the order of their first mention. Contradictions go to facts.problems.
std::vector<Port> merge_ports(Facts& facts);

}  // namespace nccl_env::listing
