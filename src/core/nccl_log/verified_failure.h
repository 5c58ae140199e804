// SPDX-License-Identifier: Apache-2.0
// A failure of a log beside the others: whether it counts, which value caused it, which is nearest to the
// cause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nccl_env/core/nccl_log/log_verification.h"
#include "nccl_env/core/nccl_log/nccl_failure.h"
#include "nccl_env/core/nccl_log/nccl_log.h"

namespace nccl_env {

// From 2.31 on NCCL reads its rows again when a port's GID table changes, unless an index is forced upon it.
bool follows_gids(const NcclLog& log, const std::vector<VerifiedValue>& values);
// `all`: the log's; `follows`: follows_gids(). A value that caused it has failed.
VerifiedFailure verify_failure(const NcclFailure& failure, const NcclLog& log,
                               const std::vector<NcclFailure>& all, bool follows,
                               std::vector<VerifiedValue>& values);
// The failure that is nearest to the cause, of these the first; of several ports' events the first that a
// transfer's error belongs to.
std::optional<std::size_t> find_cause(const std::vector<VerifiedFailure>& failures, const NcclLog& log);

// True if a process is in both.
bool meet(const std::set<std::uint32_t>& left, const std::set<std::uint32_t>& right);
// How a transfer's error belongs to a port's event that came before it.
enum class Bond { None, Port, Process, Peer };
Bond bond_of(const NcclFailure& event, const NcclFailure& error, const NcclLog& log);
bool is_of_another_port(const NcclFailure& event, const NcclFailure& error);

// "NCCL_IB_GID_INDEX="3" is given to the pod"; "" where no value is known to be the cause.
std::string cause_of(const VerifiedFailure& failure);
// "(2 times, 15:16:23 to 15:23:34)".
std::string how_often(const NcclFailure& failure);

}  // namespace nccl_env
