// SPDX-License-Identifier: Apache-2.0
// A failure in the light of its whole log: other lines may say what it really is, whether it counts, which
// value caused it, which one is nearest to the cause, and what else they show. What they do not prove stands
// as a question.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/judge/nccl_log/log_verification.h"
#include "nccl_env/judge/nccl_log/nccl_failure.h"
#include "nccl_env/judge/nccl_log/nccl_log.h"

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

// True if an NCCL that does not search runs over RoCE without an index: it takes row 0 of each port.
bool takes_row_zero(const NcclLog& log);
// From 2.31 on NCCL reads its rows again when a port's GID table changes, unless an index is forced upon it.
bool follows_gids(const NcclLog& log, const std::vector<VerifiedValue>& values);
// `all`: the log's; `follows`: follows_gids(). A value that caused it has failed.
VerifiedFailure verify_failure(const NcclFailure& failure, const NcclLog& log,
                               const std::vector<NcclFailure>& all, bool follows,
                               std::vector<VerifiedValue>& values);
// The failure that is nearest to the cause, of these the first; of several ports' events the first that a
// transfer's error belongs to.
std::optional<std::size_t> find_cause(const std::vector<VerifiedFailure>& failures, const NcclLog& log);

// How a transfer's error belongs to a port's event that came before it.
enum class Bond { None, Port, Process, Peer };
Bond bond_of(const NcclFailure& event, const NcclFailure& error, const NcclLog& log);
bool is_of_another_port(const NcclFailure& event, const NcclFailure& error);

// "NCCL_IB_GID_INDEX="3" is given to the pod"; "" where no value is known to be the cause.
std::string cause_of(const VerifiedFailure& failure);
// "(2 times, 15:16:23 to 15:23:34)".
std::string how_often(const NcclFailure& failure);

}  // namespace nccl_env
