// SPDX-License-Identifier: Apache-2.0
// Sees a failure in the light of its whole log: other lines may say what it really is, or what else they show
// of its cause. What they do not prove stands as a question.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/nccl_log/nccl_failure.h"
#include "nccl_env/core/nccl_log/nccl_log.h"

namespace nccl_env {

// Returns the failure with the code that the log's other lines give it.
NcclFailure seen_in(const NcclLog& log, NcclFailure failure);
// Returns a sentence or two on what the log shows beside the failure's own line; "" if nothing.
std::string context_of(const NcclFailure& failure, const NcclLog& log);
// Says that sockets of a job on several nodes also take interfaces inside a host, which hangs it; "" if not.
std::string bridges_text(const NcclLog& log);
// "NCCL_PROTO="LL" (line 4)", as NCCL reads it; "" where the log does not tell that.
std::string value_read(const NcclLog& log, std::string_view name);
// Bridges of containers and virtual machines with the same address on each host, and their ends. Those of a
// cluster's network (cni0, flannel.1) have a subnet of their own on each node, and are routed.
bool is_inside_host(std::string_view interface);
// "gpu-1, gpu-2": the hosts whose processes tell the failure; "" where none is known.
std::string hosts_of(const NcclFailure& failure, const NcclLog& log);
// "gpu-1, gpu-2": the hosts that have this address of their own; "" unless there are several.
std::string hosts_with(std::string_view peer, const NcclLog& log);
// "4096" of "5", ibv_mtu's number.
std::string bytes_of_mtu(std::string_view number);
// "2.21.5" of "2.21.5+cuda12.4": what two logs have in common where one tells no build.
std::string_view version_number(std::string_view version);
// Reads the log's form, "2.32.3+cuda13.0". RCCL logs the version of the NCCL release that it follows: "RCCL
// 2.22.3-HEAD:6bfc0dd".
std::optional<NcclVersion> logged_version(std::string_view text);

}  // namespace nccl_env
