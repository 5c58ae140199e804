// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace nccl_env {

// Bytes of the UTF-8 character at the start of `text`, which is not empty; 0 if there is none.
std::size_t character_length(std::string_view text);
bool is_utf8(std::string_view text);

}  // namespace nccl_env
