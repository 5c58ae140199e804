// SPDX-License-Identifier: Apache-2.0
// Lines in which a tool says that it found nothing, or that it cannot use what it found.
#pragma once

#include "facts.h"

namespace nccl_env::listing {

// True if the line is such an answer of libibverbs or ibv_devinfo; then it is in facts.answers.
bool take_answer(const Line& line, Facts& facts);

// Notes which devices cannot be used here. Where none is left, says why, as a problem.
void tell_answers(Facts& facts);

}  // namespace nccl_env::listing
