// SPDX-License-Identifier: Apache-2.0
// The versions in which NCCL's rules changed. A change that came with a minor's first release stands at
// patch 0, so that a version given as two numbers falls on the right side.
#pragma once

#include "nccl_env/core/nccl/rules.h"

namespace nccl_env::nccl_since {

inline constexpr NcclVersion k32Hcas{2, 18, 5};
inline constexpr NcclVersion kNicMerging{2, 20, 0};
inline constexpr NcclVersion kDynamicGid{2, 21, 0};             // first release 2.21.5
inline constexpr NcclVersion kInfiniBandOwnGid{2, 22, 0};       // 2.22.3
inline constexpr NcclVersion kRangeWithoutSlash{2, 23, 0};      // 2.23.4
inline constexpr NcclVersion kTopologyMerging{2, 24, 0};        // 2.24.3
inline constexpr NcclVersion kNoInterfaceIsUsage{2, 24, 0};     // 2.24.3
inline constexpr NcclVersion kUnreadableTypeSkipped{2, 26, 0};  // 2.26.2
inline constexpr NcclVersion kNetPluginList{2, 27, 0};          // 2.27.3
inline constexpr NcclVersion kRunningInterfaces{2, 28, 0};      // 2.28.3
inline constexpr NcclVersion kPciOrder{2, 29, 7};
inline constexpr NcclVersion kRailsAndPlanes{2, 30, 7};

}  // namespace nccl_env::nccl_since
