// SPDX-License-Identifier: Apache-2.0
// Names of what carries nccl.conf into a pod. In a pod they are ours whoever wrote them: an earlier round, or
// the manifest that a pod was copied into.
#pragma once

#include <string_view>

namespace nccl_env::conf_file {

inline constexpr std::string_view kName = "nccl.conf";             // the file; what stands for it in a status
inline constexpr std::string_view kPath = "/etc/nccl.conf";        // where every NCCL reads it
inline constexpr std::string_view kVolume = "nccl-env-conf";       // the volume that holds it
inline constexpr std::string_view kResolver = "nccl-env-resolve";  // the init container that writes it

}  // namespace nccl_env::conf_file
