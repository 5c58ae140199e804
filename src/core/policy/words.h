// SPDX-License-Identifier: Apache-2.0
// The words of a policy's rules that may also be a literal, in the order of the enumerators.
#pragma once

#include <array>
#include <string_view>

#include "nccl_env/core/text/enum_names.h"

namespace nccl_env::words {

using Word = std::string_view;

inline constexpr std::array<Word, 2> kHca{"FromNode", "Omit"};
inline constexpr std::array<Word, 4> kGidIndex{"Auto", "Pin", "Dynamic", "Omit"};
inline constexpr std::array<Word, 2> kSocketInterface{"Omit", "FromNode"};

}  // namespace nccl_env::words
