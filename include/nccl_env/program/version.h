// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace nccl_env::program {

inline constexpr std::string_view kVersion = "0.1.0";  // a test compares it with CMakeLists.txt

}  // namespace nccl_env::program
