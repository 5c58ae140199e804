// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/failure_words.h"

#include <algorithm>

#include "nccl_env/core/nccl_log/failure_context.h"
#include "nccl_env/core/nccl_log/line_finder.h"
#include "nccl_env/core/nccl_log/log_text.h"

namespace nccl_env {
namespace {

using std::string_view;

// "6 and 3" of "… mismatch in rank count from procs 6 : 3": the root's number, and another rank's.
std::string rank_counts(const NcclFailure& failure) {
  const auto counts = text_behind(failure.text, "mismatch in rank count from procs ");
  const auto own = number_behind(counts.value_or(""), ""), other = number_behind(counts.value_or(""), " : ");
  return own && other ? std::to_string(*own) + " and " + std::to_string(*other) : std::string();
}

}  // namespace

FailureWords words_of(const NcclFailure& failure, const NcclLog& log, std::string_view variable) {
  const Named& code = words_of(failure.code);
  const KnownLine* row = failure.known;
  if (!row || row->meaning.empty() || row->code != failure.code)
    row = refine_line(failure.code, failure.text);
  if (row) return {std::string(row->meaning), std::string(row->remedy)};
  if (const std::string counts = rank_counts(failure); failure.code == Code::CallsDiffer && !counts.empty())
    return {
        "Ranks come with unequal numbers of ranks, " + counts + ": their world sizes differ.",
        "Compare WORLD_SIZE, nodes and processes for each node that the ranks were started with; look for "
        "ranks of an earlier run."};
  // The one driver whose adapters do RoCE only where they are set up for it, and else iWARP.
  const auto is_irdma = [](const auto& each) { return each.first.starts_with("irdma"); };
  if (failure.code == Code::ConnectFailed && !log.devices.empty() &&
      std::ranges::all_of(log.devices, is_irdma))
    return {
        "The Intel adapter (irdma) refuses the queue pair: RoCE is not set up on it, or its MTU or GID index "
        "does "
        "not fit the peer.",
        "Set RoCE up on both ends (irdma's roce_ena, addresses), or leave the adapter out: "
        "NCCL_IB_HCA=^irdma, "
        "or NCCL_IB_DISABLE=1 where it is the only one."};
  if (failure.code == Code::DeviceNotOpened && variable.empty())
    return {
        "NCCL sees a device that this process may not open, and goes on without it.",
        "Give the container that device (its RDMA resource), or leave it out on all ranks by NCCL_IB_HCA. "
        "Ranks with unequal numbers of HCAs may wait for each other for ever."};
  if (failure.code == Code::UnreachableInterface && !hosts_with(failure.peer, log).empty())
    return {
        "NCCL took an address that several hosts have, such as that of a container behind its host's "
        "bridge: no other host reaches it.",
        "Run the containers with the host's network (--network host, hostNetwork), or with one that hosts "
        "reach each other by."};
  if (failure.code == Code::GpuPeer && shares_host_name(log))
    return {
        "A rank cannot open the memory of another GPU that NCCL takes for one of its node. One host name "
        "has processes with numbers far apart, whose devices repeat: these may be two hosts.",
        "Give each host a name of its own, or a NCCL_HOSTID. If it is one host, give the container all its "
        "GPUs, or set NCCL_P2P_DISABLE=1."};
  return {std::string(code.meaning), std::string(code.remedy)};
}

}  // namespace nccl_env
