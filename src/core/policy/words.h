// SPDX-License-Identifier: Apache-2.0
// The words of a policy's enumerations, in the order of the enumerators.
#pragma once

#include <array>
#include <string_view>

#include "nccl_env/core/text/enum_names.h"

namespace nccl_env::words {

using Word = std::string_view;

inline constexpr std::array<Word, 3> kExposure{"Host", "SubInterface", "PodOwned"};
// Without Host, an exposure that a pod's own network cannot have.
inline constexpr std::array<Word, 2> kNetworkExposure{"SubInterface", "PodOwned"};
inline constexpr std::array<Word, 2> kMode{"Enforce", "DryRun"};
inline constexpr std::array<Word, 2> kContainers{"Requesting", "All"};
inline constexpr std::array<Word, 2> kOnUnresolved{"Allow", "Deny"};
inline constexpr std::array<Word, 3> kLinkLayer{"Any", "Ethernet", "InfiniBand"};
// The words of a condition: without the first, which every node meets.
inline constexpr std::array<Word, 2> kConditionLinkLayer{"Ethernet", "InfiniBand"};
// The rules that may also be a literal: without their last enumerator.
inline constexpr std::array<Word, 2> kHca{"FromNode", "Omit"};
inline constexpr std::array<Word, 3> kGidIndex{"Auto", "Dynamic", "Omit"};
inline constexpr std::array<Word, 2> kSocketInterface{"Omit", "FromNode"};

}  // namespace nccl_env::words
