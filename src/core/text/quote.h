// SPDX-License-Identifier: Apache-2.0
// Text from outside as it may stand in a message: in quotes, control characters escaped, at most 64
// bytes of it (a message goes to logs and terminals).
#pragma once

#include <string>
#include <string_view>

namespace nccl_env {

std::string in_quotes(std::string_view text);

}  // namespace nccl_env
