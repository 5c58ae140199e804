// SPDX-License-Identifier: Apache-2.0
// The rows of known lines, as the files of this room have them (cmake/KnownLines.cmake).
#pragma once

#include <string_view>

namespace nccl_env {

extern const std::string_view kKnownLines;

}  // namespace nccl_env
