// SPDX-License-Identifier: Apache-2.0
// Findings that follow from another one.
#pragma once

#include <vector>

#include "nccl_env/core/findings/finding.h"

namespace nccl_env {

// Where cause and consequence stand together: in one container, anywhere in the pod, or on one node.
enum class Among { Container, Pod, Node };

// Takes out each finding that another one of the same subject explains, for all of its parts. The cause takes
// over its severity if that is worse, and says what follows. An info explains infos alone.
void fold_consequences(Among among, std::vector<Finding>& findings);

}  // namespace nccl_env
