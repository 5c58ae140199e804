// SPDX-License-Identifier: Apache-2.0
// The findings of a pod that follow from another one.
#pragma once

#include <vector>

#include "nccl_env/core/findings/finding.h"

namespace nccl_env {

// Where cause and consequence stand together: in one container, or anywhere in the pod.
enum class Among { Container, Pod };

// Takes out each finding that another one explains. The cause takes over its severity if that is worse, and
// says what follows.
void fold_consequences(Among among, std::vector<Finding>& findings);

}  // namespace nccl_env
