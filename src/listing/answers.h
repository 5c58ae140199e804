// SPDX-License-Identifier: Apache-2.0
// Lines in which a tool says that it found nothing, or that it cannot use what it found.
#pragma once

#include <vector>

#include "facts.h"

namespace nccl_env::listing {

// True if the line is such an answer of libibverbs or ibv_devinfo; then it is in facts.answers.
bool take_answer(const Line& line, Facts& facts);

// Removes the ports of devices that cannot be used here, with notes. Where nothing is left, says why, as a
// problem.
void apply_answers(Facts& facts, std::vector<Port>& ports);

}  // namespace nccl_env::listing
