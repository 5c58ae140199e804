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
     "vshmem",
     {},
     "NVSHMEM could not map NVLink's multicast (NVLS): driver and fabric manager are out of step (after an "
     "update or restart), or the container lacks the right to it. Not the network.",
     "Restart nvidia-fabricmanager and reset the GPUs, or reboot the node; NVSHMEM_DISABLE_NVLS=1 goes round "
     "it. dmesg may say more (NV_ERR_FABRIC_STATE_OUT_OF_SYNC)."},
    {Code::NvlinkFabric,
     "abric state cached",
     {},
     "The driver's state of the NVLink fabric is out of step with fabric manager's. Not the network.",
     "Restart nvidia-fabricmanager and reset the GPUs, or reboot the node; NVLS turned off goes round it."},
    {Code::NvlinkFabric,
     "NVRM: Xid",
     {},
     "The driver reports an error of NVLink (Xid 74): a link, its cable or NVSwitch. Not the network.",
     "Look at nvidia-smi nvlink -e and dmesg on that node; take the node out and reset the GPUs."},
    {Code::GpuFault,
     "NVRM: Xid",
     {},
     "The driver reports an error of a GPU (Xid), of its hardware or of the program on it. Not the network.",
     "Look the number up in NVIDIA's list of Xids; for 48, 63, 64, 79, 94, 95 take the node out."},
    {Code::NotTheNetwork,
     "operation not supported",
     {},
     "The GPU or its driver does not support what NCCL asks for: a virtual GPU (vGPU) without unified memory "
     "(UVM) has no memory pools, for one. Not the network.",
     "Turn unified memory on for the vGPU, or pass the whole GPU through; compare driver and CUDA's "
     "version."},
    {Code::GpuNotUsable,
     "named symbol not found",
     {},
     "The library has no code for this GPU's architecture, or does not fit the driver. Not the network.",
     "Use a build of NCCL (or of the library that fails) for this GPU: NVCC_GENCODE with its sm_ number; "
     "look "
     "whether an older libnccl is found first."},
    {Code::GpuNotUsable,
     "no kernel image",
     {},
     "The library has no code for this GPU's architecture. Not the network.",
     "Use a build for this GPU (its sm_ or gfx number), of PyTorch, NCCL or the library that fails."},
    {Code::GpuNotUsable,
     "invalid device function",
     {},
     "The library has no code for this GPU's architecture. Not the network.",
     "Use a build for this GPU (its sm_ or gfx number), of PyTorch, NCCL or RCCL."},
    {Code::GpuNotUsable,
     "HSA_NO_SCRATCH_RECLAIM",
     {},
     "RCCL stops at its start: this HIP runtime and firmware want HSA_NO_SCRATCH_RECLAIM=1. Not the network.",
     "Set HSA_NO_SCRATCH_RECLAIM=1 for all ranks."},
    {Code::GpuNotUsable,
     "only supported with GPUs",
     {},
     "PyTorch sees no GPU in this process. Not the network.",
     "Give the container its GPUs (nvidia-smi or rocminfo shows them), and a PyTorch built for them."},
    {Code::GpuPeer,
     "or IPC, failed",
     {},
     "HIP cannot share a GPU's memory with the other processes of the node (IPC): the container does not "
     "allow it, or HSA_ENABLE_IPC_MODE_LEGACY=1 does not work here. Not the network.",
     "Unset HSA_ENABLE_IPC_MODE_LEGACY or set it to 0; else run the node's ranks in one container, with "
     "--ipc=host."},
    {Code::GpuPeer,
     "hipIpc",
     {},
     "HIP cannot share a GPU's memory with the other processes of the node (IPC): the container does not "
     "allow it, or HSA_ENABLE_IPC_MODE_LEGACY=1 does not work here. Not the network.",
     "Unset HSA_ENABLE_IPC_MODE_LEGACY or set it to 0; else run the node's ranks in one container, with "
     "--ipc=host."},
    {Code::GpuPeer,
     "IPC memory creation",
     {},
     "HIP cannot share a GPU's memory with the other processes of the node (IPC): the container does not "
     "allow it, or HSA_ENABLE_IPC_MODE_LEGACY=1 does not work here. Not the network.",
     "Unset HSA_ENABLE_IPC_MODE_LEGACY or set it to 0; else run the node's ranks in one container, with "
     "--ipc=host."},
    {Code::SharedMemory,
     "process_vm_",
     {},
     "UCX may not read another process's memory (CMA): the ranks of a node are in separate containers or "
     "user "
     "namespaces, or ptrace is forbidden.",
     "Run a node's ranks in one container or namespace, allow SYS_PTRACE, or set UCX_TLS=^cma."},
    {Code::SharedMemory,
     "/proc/",
     {},
     "UCX may not open another process's shared memory by /proc: the ranks of a node are in separate user "
     "namespaces (containers).",
     "Set UCX_POSIX_USE_PROC_LINK=n, or run a node's ranks in one container or namespace."},
    {Code::SharedMemory,
     "remote FIFO",
     {},
     "UCX cannot attach the shared memory of another rank of the node: they are in separate containers or "
     "namespaces, or /dev/shm has no room.",
     "Look at the first error above it; run a node's ranks in one container; look at df /dev/shm."},
    {Code::SegmentMissing,
     "(size 0)",
     {},
     "A rank takes another rank's memory handle (cuMem) for a file's name: hence size 0 and a strange name. "
     "/dev/shm itself is not at fault.",
     "Set NCCL_CUMEM_HOST_ENABLE=0 on all ranks, or use a later NCCL; look for a NUMA node without memory "
     "(numactl -H)."},
    {Code::NoConnection,
     "Gloo ",
     {},
     "Gloo, which NCCL's variables do not reach, could not connect the ranks: one gave an address that the "
     "others do not reach (GLOO_SOCKET_IFNAME), or ended before.",
     "Set GLOO_SOCKET_IFNAME on all ranks to the interface that hosts reach each other by; look for a rank "
     "that failed before."},
    {Code::NoConnection,
     "ssh: connect",
     {},
     "The launcher reaches no sshd on that host: its pod is not ready, or its name or port is another.",
     "Wait until all workers run, and try ssh by hand from the launcher."},
    {Code::RendezvousFailed,
     "failed to connect to [::ffff:255.",
     {},
     "MASTER_ADDR leads to a netmask, not to a host's address.",
     "Set MASTER_ADDR to the address or name of rank 0's host, the same on all ranks."},
    {Code::RendezvousFailed,
     "The client socket",
     {},
     "Nothing answers at PyTorch's MASTER_ADDR and MASTER_PORT: rank 0 (torchrun's master) is not started "
     "yet "
     "or has ended, the address is wrong, or a firewall is between.",
     "Compare when rank 0 and this rank started (a longer rendezvous time-out waits for it); connect to "
     "MASTER_ADDR:MASTER_PORT by hand."},
    {Code::RendezvousFailed,
     "cannot be retrieved",
     {},
     "The name in MASTER_ADDR does not resolve here.",
     "Look at the job's headless service and at the pod's DNS; name rank 0's host as the others resolve it."},
    {Code::PeerClosed,
     "SocketImpl",
     {},
     "PyTorch's store, which rank 0 holds, closed the connection: rank 0's process ended before, and its log "
     "tells why.",
     "Read rank 0's log from its end."},
    {Code::PluginFailed,
     "o eligible providers",
     {},
     "The plugin (aws-ofi-nccl) finds no provider that it can use: no EFA device in the container, or a "
     "libfabric without it.",
     "Request vpc.amazonaws.com/efa, look at fi_info -p efa in the container, and use the EFA installer's "
     "libfabric."},
    {Code::PluginFailed,
     "fi_getinfo() call failed",
     {},
     "The plugin (aws-ofi-nccl) finds no provider that it can use: no EFA device in the container, or a "
     "libfabric without it.",
     "Request vpc.amazonaws.com/efa, look at fi_info -p efa in the container, and use the EFA installer's "
     "libfabric."},
    {Code::GaveUp,
     "(SIGKILL)",
     {},
     "A process was killed from outside (SIGKILL): by the kernel where memory ran out, or by a person or "
     "launcher. The log does not tell which.",
     "Look at the pod's last state (OOMKilled), at dmesg on the node, and at the other ranks' logs."},
    {Code::GaveUp,
     "exitcode: -9",
     {},
     "A process was killed from outside (SIGKILL): by the kernel where memory ran out, or by a person or "
     "launcher. The log does not tell which.",
     "Look at the pod's last state (OOMKilled), at dmesg on the node, and at the other ranks' logs."},
    {Code::GaveUp,
     "SignalException: Process ",
     {},
     "The launcher was ended by a signal from outside: 1 where its terminal went away, 15 by a scheduler, "
     "the kubelet or a person.",
     "Start it by nohup, tmux or a job; else look at the pod's events and the scheduler's log for who ended "
     "it."},
    {Code::LibraryMismatch,
     "mlx5dv_devx_",
     {},
     "The image's libmlx5 asks the kernel's mlx5 driver for what it does not have: user space and driver are "
     "of different releases.",
     "Compare the releases (ofed_info -s on the node, ibv_devinfo --version in the image) and bring the "
     "older "
     "one up."},
    {Code::LibraryMismatch,
     "address version mismatch",
     {},
     "Processes of two versions of UCX meet, which do not understand each other's addresses.",
     "Use one UCX everywhere: ucx_info -v on each side; look at LD_LIBRARY_PATH and pip's own copies."},
    {Code::GpuNotUsable,
     "not supported in the installed CUDA driver",
     {},
     "The node's CUDA driver is older than the CUDA that this NCCL was built with, and lacks a call that it "
     "makes. Not the network.",
     "Use a newer driver (nvidia-smi shows it), or an NCCL built for the driver's CUDA."},
    {Code::PluginFailed,
     "queue pair number (QPN)",
     {},
     "The peer's queue pair is gone: most often its process ended first, killed for memory or crashed; this "
     "line is an echo.",
     "Look at the peer's pod (OOMKilled, its log) and raise its memory limit if that is so."},
    {Code::UnknownWarning,
     "(SIGBUS)",
     {},
     "A process got SIGBUS, and the log does not tell why; most often /dev/shm has no room.",
     "Look at df /dev/shm in the container; give it an emptyDir with medium: Memory."},
    {Code::UnknownWarning,
     "(SIGSEGV)",
     {},
     "A process crashed (segmentation fault), and the log does not tell why.",
     "Read the backtrace near that line, or a core file's."},
    {Code::LibraryMismatch,
     "cannot open shared object file",
     {},
     "A library that the program needs is not found by the loader.",
     "Install it in the image, or name its folder in LD_LIBRARY_PATH (pip's are under "
     "site-packages/nvidia)."},
    {Code::LibraryMismatch,
     "symbol: nccl",
     {},
     "The libnccl that is loaded is not the one that this program was built for: two versions are installed, "
     "or an older one is found first.",
     "pip list | grep -i nccl: remove the one that does not fit (nvidia-nccl-cu11 beside -cu12); look at "
     "LD_LIBRARY_PATH and LD_PRELOAD."},
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
    {Code::StrangerConnected,
     "[Rem Allocator]",
     {},
     "NCCL's helper for other ranks' memory was asked for more than there is: before 2.17.1 a connection of "
     "a "
     "stranger (a port scan) can ask so; else that GPU's memory is full.",
     "Use NCCL 2.17.1 or later, and keep scanners off the pods' ports; look at the GPU's memory."},
    {Code::ConnectFailed,
     "Unable to create ah",
     {},
     "NVSHMEM's IBGDA could not make an address handle: its GID row (NVSHMEM_IB_GID_INDEX) does not fit the "
     "link, or this NVSHMEM's IBGDA does not work with this driver.",
     "Compare NVSHMEM_IB_GID_INDEX with show_gids; if NVSHMEM_IB_ENABLE_IBGDA=0 works with the same row, use "
     "a later NVSHMEM, built against this driver."},
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
