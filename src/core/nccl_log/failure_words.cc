// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/failure_words.h"

#include <algorithm>

#include "nccl_env/core/nccl_log/failure_context.h"
#include "nccl_env/core/nccl_log/log_text.h"

namespace nccl_env {
namespace {

using std::string_view;

struct NearWords {
  Code code;
  string_view words;    // in the failure's text
  string_view without;  // and this is not in it; "": no such words
  string_view meaning;
  string_view remedy;
};

// Lines of NCCL, NVSHMEM, UCX, aws-ofi-nccl, Gloo, CUDA and HIP, and what their threads found to be the
// cause: tests/data/logs/cases.tsv names each.
constexpr NearWords kNearWords[] = {
    {Code::NvlinkFabric,
     "invalid argument",
     {},
     "NVLink's multicast (NVLS) failed, and the line does not tell whether fabric manager, the driver or "
     "this NCCL is at fault. Not the network.",
     "Set NCCL_NVLS_ENABLE=0 as a test. If the job runs, look at nvidia-fabricmanager (after a restart of it "
     "the GPUs need a reset), and try another driver or NCCL."},
    {Code::MemoryLock, "reg_mr", "ulimit",
     "Memory could not be registered with the HCA: the memory lock limit is too low, or the kernel has none "
     "to give.",
     "Look at `ulimit -l` in the container (raise LimitMEMLOCK, or add IPC_LOCK to a root container); where "
     "it is unlimited, look at dmesg and /proc/meminfo on the node."},
    {Code::GpuFault,
     "uncorrectable ECC",
     {},
     "A GPU's memory has an error that cannot be corrected: its hardware. Not the network.",
     "Look for Xid lines in dmesg and at nvidia-smi -q -d ECC on that node; take the node out, reset the "
     "GPU, and replace it if the error returns."},
    {Code::GpuMemory,
     "reg_dmabuf_mr failed with error Operation not supported",
     {},
     "The HCA's driver or the kernel cannot register a GPU's memory by DMA-BUF, and this NCCL does not go on "
     "with nvidia-peermem.",
     "Set NCCL_DMABUF_ENABLE=0 and load nvidia-peermem on the node; or use a later NCCL, or a kernel and "
     "driver with DMA-BUF."},
    {Code::GpuMemory,
     "peermem detected",
     {},
     "NVSHMEM finds no nvidia-peermem, and so does without its InfiniBand transport: GPUs of other nodes are "
     "not reached.",
     "Load nvidia-peermem on the node (modprobe nvidia-peermem), or use an NVSHMEM that registers by "
     "DMA-BUF."},
    {Code::GpuNotUsable,
     "invalid device ordinal",
     {},
     "A rank asks for a GPU that it does not see: more ranks on the node than GPUs that it has or shows. Not "
     "the network.",
     "Start as many ranks on a node as nvidia-smi -L lists in the container (mpirun's slots, -g), and look "
     "at CUDA_VISIBLE_DEVICES."},
    {Code::GpuNotUsable,
     "hipErrorInvalidDevice",
     {},
     "A rank asks for a GPU that HIP does not see: the container has none, or fewer than ranks. Not the "
     "network.",
     "Give the container the GPUs (/dev/kfd and /dev/dri), and as many ranks as rocminfo lists; look at "
     "HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES."},
    {Code::LinkLocalGid,
     " sgix ",
     {},
     "UCX sends on RoCE from a GID row to a link-local address, which is not routed and often is not the row "
     "of the fabric's RoCE v2 and traffic class.",
     "Name the row of RoCE v2 with the rail's address in UCX_IB_GID_INDEX (show_gids), and the traffic class "
     "that the switches expect in UCX_IB_TRAFFIC_CLASS."},
    {Code::NoTransport,
     "mlx5dv_devx_uar",
     {},
     "NVSHMEM's IBGDA may not allocate a UAR on the HCA: the container has no right to DEVX, or the driver "
     "lacks its options.",
     "Run the container privileged once. If it runs then, add the capabilities that it lacks; else give the "
     "driver NVreg_EnableStreamMemOPs=1 and PeerMappingOverride=1, or set NVSHMEM_IB_ENABLE_IBGDA=0."},
    {Code::DeviceNotAvailable,
     "is not enumerated as an mlx5 device",
     {},
     "NVSHMEM's IBGDA works over mlx5 adapters alone, and goes on without this device, which is not one.",
     "Set NVSHMEM_IB_ENABLE_IBGDA=0, so that NVSHMEM takes another transport, or use nodes with mlx5."},
    {Code::PluginFailed,
     "Completed length: 0",
     {},
     "A transfer of the plugin failed before a byte arrived: on EFA most often its security group lacks a "
     "rule for all traffic from and to itself; else the peer ended.",
     "Give the security group both rules with itself as the other end (0.0.0.0/0 does not cover EFA); look "
     "for the rank that failed first."},
    {Code::PluginFailed,
     "nable to register memory",
     {},
     "The plugin could not register memory with the adapter. On EFA, NCCL from 2.19 on does not work with "
     "an old libfabric.",
     "Use a later EFA installer, or set FI_EFA_SET_CUDA_SYNC_MEMOPS=0; else look at the memory lock limit."},
    {Code::UnreachableInterface,
     "Gloo ",
     {},
     "Gloo gave the loopback address to the other ranks, which reaches no other host: this host's name does "
     "not resolve to an address of its own.",
     "Set GLOO_SOCKET_IFNAME to the interface that hosts reach each other by, or let the host's name "
     "resolve."},
    {Code::UnknownWarning,
     "Segmentation fault",
     {},
     "A process crashed (segmentation fault), and the log does not tell why.",
     "Read the backtrace near that line, or a core file's."},
    {Code::UnknownWarning,
     "is neither AF_INET",
     {},
     "Another rank sent an address without a family: it found no interface of the name in "
     "NCCL_SOCKET_IFNAME, "
     "or it has another NCCL or network plugin.",
     "Compare the ranks' NCCL versions, plugins (Using network) and interfaces: `nccl-env verify job/NAME`."},
    {Code::TimedOut,
     "DUE TO TIME LIMIT",
     {},
     "Slurm ended the job at its time limit: it hung, or needed longer. The log does not tell which.",
     "If it hung, look at the last lines before that, on each rank."},
};

bool fits(const NearWords& row, const NcclFailure& failure) {
  const auto has = [&](string_view words) { return failure.text.find(words) != failure.text.npos; };
  return row.code == failure.code && has(row.words) && (row.without.empty() || !has(row.without));
}

// "6 and 3" of "… mismatch in rank count from procs 6 : 3": the root's number, and another rank's.
std::string rank_counts(const NcclFailure& failure) {
  const auto counts = text_behind(failure.text, "mismatch in rank count from procs ");
  const auto own = number_behind(counts.value_or(""), ""), other = number_behind(counts.value_or(""), " : ");
  return own && other ? std::to_string(*own) + " and " + std::to_string(*other) : std::string();
}

}  // namespace

FailureWords words_of(const NcclFailure& failure, const NcclLog& log, std::string_view variable) {
  const Named& code = words_of(failure.code);
  const auto row =
      std::ranges::find_if(kNearWords, [&](const NearWords& each) { return fits(each, failure); });
  if (row != std::end(kNearWords)) return {std::string(row->meaning), std::string(row->remedy)};
  if (const std::string counts = rank_counts(failure); failure.code == Code::CallsDiffer && !counts.empty())
    return {
        "Ranks come with unequal numbers of ranks, " + counts + ": their world sizes differ.",
        "Compare WORLD_SIZE, nodes and processes for each node that the ranks were started with; look for "
        "ranks of an earlier run."};
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
