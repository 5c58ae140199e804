// SPDX-License-Identifier: Apache-2.0
// Names of environment variables that are nearly those of NCCL's catalogue (variables.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nccl_env {

// "is not a variable of NCCL's: do you mean NCCL_IB_TIMEOUT?", for a name that is nearly one of the
// catalogue's; nothing for any other.
std::optional<std::string> name_problem(std::string_view name);

}  // namespace nccl_env
