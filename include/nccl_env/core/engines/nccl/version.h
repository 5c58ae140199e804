// SPDX-License-Identifier: Apache-2.0
// Versions of NCCL, and those in which its rules changed.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "nccl_env/result.h"

namespace nccl_env {

struct NcclVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;
  auto operator<=>(const NcclVersion&) const = default;
};
// "2.21.5", "v2.21.5-1" (a tag), "2.21.5+cuda12.4" (the log); two numbers mean patch 0, which reads as the
// minor's first release. Refuses versions before kOldestNccl and from 3 on: no rules are known. A later
// 2.x is accepted: the newest rules stand for it.
Result<NcclVersion> parse_nccl_version(std::string_view text);
std::string format_nccl_version(const NcclVersion& version);
// The releases whose rules are known.
inline constexpr NcclVersion kOldestNccl{2, 18, 0}, kNewestNccl{2, 32, 3};
// "2.18 to 2.32", and "2.32" alone.
std::string known_versions();
std::string newest_version();
// True for a later minor release than the newest whose rules are known; an answer for it has to say so.
bool is_newer_than_known(const NcclVersion& version);

// True for NCCL_VERSION of an image, "2.19.3-1", if that NCCL does not search for a GID index.
bool is_before_search(std::string_view version);
// True if the image's name says the same: "nccl2.19.3" in its tag, or a release of NVIDIA's framework images
// before 24.04, whose release notes name 2.21.5 (docs.nvidia.com/deeplearning/frameworks/support-matrix).
bool has_old_nccl(std::string_view image);

// The versions in which NCCL's rules changed. A change that came with a minor's first release stands at
// patch 0, so that a version given as two numbers falls on the right side.
namespace nccl_since {

inline constexpr NcclVersion k32Hcas{2, 18, 5};
inline constexpr NcclVersion kNicMerging{2, 20, 0};
inline constexpr NcclVersion kDynamicGid{2, 21, 0};             // first release 2.21.5
inline constexpr NcclVersion kInfiniBandOwnGid{2, 22, 0};       // 2.22.3
inline constexpr NcclVersion kRangeWithoutSlash{2, 23, 0};      // 2.23.4
inline constexpr NcclVersion kNamedConf{2, 23, 0};              // NCCL_CONF_FILE; 2.23.4
inline constexpr NcclVersion kFunctionLists{2, 24, 0};          // of NCCL_ALGO and NCCL_PROTO; 2.24.3
inline constexpr NcclVersion kTopologyMerging{2, 24, 0};        // 2.24.3
inline constexpr NcclVersion kNoInterfaceIsUsage{2, 24, 0};     // 2.24.3
inline constexpr NcclVersion kUnreadableTypeSkipped{2, 26, 0};  // 2.26.2
inline constexpr NcclVersion kNetPluginList{2, 27, 0};          // 2.27.3
inline constexpr NcclVersion kRunningInterfaces{2, 28, 0};      // 2.28.3
inline constexpr NcclVersion kPciOrder{2, 29, 7};
inline constexpr NcclVersion kRailsAndPlanes{2, 30, 7};
inline constexpr NcclVersion kPartitionByValue{2, 31, 0};  // 2.31.2

}  // namespace nccl_since

}  // namespace nccl_env
