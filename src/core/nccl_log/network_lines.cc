// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/network_lines.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>

namespace nccl_env {
namespace {

using std::string_view;

// Warnings that end nothing, with the words that tell them; a name of NCCL's or RCCL's own in each.
// clang-format off
constexpr string_view kHarmless[] = {
    "NUMA auto balancing", "from kernel command line", "HSA_FORCE_FINE_GRAIN_PCIE", "MSCCL", "retrying",
    "Retrying", "port active", "LID change", "SM change", "P_Key table change", "client reregistration",
    "communication established", "ignoring", "Ignoring", "being ignored", "using default", "defaulting to",
    "deprecated", "using point-to-point network instead", "not using it", "Unsetting", "setting to",
    "setting it to", "set it to", "set both to", "cap it to", "limiting to", "Limiting value to",
    "falling back to simple order", "disabling CollNet", "falling back on simple ring",
    "falling back to graphStreamOrdering", "limiting it to", "maximum allowed, setting", " (minimum ",
    " (maximum ", "(must be a multiple of", "Cannot initialize CollNet, using", "CC On, Multi-GPU CC Off",
    "GDR Flush only supported", "due to old driver, disabling", "RAS thread terminating",
    "munmap of shared memory", "unlink shared memory", "shm unlink failed", "shm close failed",
    "not dumping topology", "Skipping nvlink detection", "Continue without profiler",
    "P2P is disabled between NVLINK connected GPUs", "Failed to find ncclNetPlugin",
    "Failed to find ncclCollNet", "No plugin found", "Plugin load", "OOO RQ is force enabled",
    "Resiliency is enabled", "NCCL_SOCKET_NTHREADS is greater", "remote FLID configured as zero",
    "peer access is already enabled", "RAS received unknown", "Cannot get incoming CPU",
    "failed to IPC register userbuff", "Maximum retry reached for accept",
    "NCCL/NET (shim) mismatch recommended"};
// clang-format on

// NCCL's own lines have 1023 bytes up to 2.28; a hostile log has more.
constexpr std::size_t kLongestWarning = 4096;

constexpr string_view kUnlike =
    "A rank whose network is InfiniBand or RoCE connected to one whose network is sockets: the ranks' "
    "networks "
    "are unlike, mostly since one node's devices are not found.";
constexpr string_view kCompareNetworks =
    "Compare 'Using network' in all ranks' logs (nccl-env verify takes them all); give the odd node its "
    "devices, "
    "or set NCCL_IB_DISABLE=1 on all as a test.";

// In the order of their weight, since a line has several.
constexpr NetworkLine kRows[] = {
    // Interfaces of sockets.
    {Code::NoInterface, "interface found in the same subnet as remote address",
     "NCCL_COMM_ID is set, and its address is in no subnet of an interface that this process may use: NCCL "
     "asks "
     "for one there.",
     "Give NCCL_COMM_ID an address of rank 0 in a subnet that all hosts have, or leave it out: PyTorch, MPI "
     "and "
     "others exchange NCCL's id themselves."},
    {Code::NoInterface, "o socket interface found", {}, {}},
    {Code::NoInterface, "o interface found", {}, {}},
    {Code::NoInterface, "No IP interface found", {}, {}},
    {Code::NoInterface, "No usable listening interface found", {}, {}},
    {Code::NoInterface, "verify NCCL_OOB_NET_IFNAME", {}, {}},
    {Code::NoInterface, "ddress family not supported", {}, {}},
    {Code::NoInterface, "Unsupported address family", {}, {}},
    {Code::NoInterface, "is neither AF_INET", {}, {}},
    {Code::NetworkNotFound, "Failed to initialize any NET plugin", {}, {}},
    {Code::NetworkNotFound, "Network returned 0 device", {}, {}},
    // A segment that another rank made, and that is not here; then those that cannot be made.
    {Code::SegmentMissing, "attaching to shared memory segment", {}, {}},
    {Code::SegmentMissing, "failed to open /dev/shm", {}, {}},
    {Code::SharedMemory, "/dev/shm/", {}, {}},
    {Code::SharedMemory, "shared memory segment", {}, {}},
    {Code::SharedMemory, "posix_fallocate failed", {}, {}},
    {Code::SharedMemory, "shm_open failed", {}, {}},
    {Code::SharedMemory, "shared memory file", {}, {}},
    {Code::SharedMemory, "failed to extend ", {}, {}},
    {Code::SharedMemory, "failure in mmap of", {}, {}},
    {Code::SharedMemory, "Unable to allocate shared memory", {}, {}},
    // Ranks that are unlike each other, and strangers.
    {Code::MissingRail, "mixed local Net device counts", {}, {}},
    {Code::MissingRail, "has a different number of devices", {}, {}},
    {Code::MixedLinks, "different link_layer", {}, {}},
    {Code::MixedLinks, "merge incompatible devices", {}, {}},
    {Code::MixedLinks, "device is incompatible with the local", {}, {}},
    {Code::NcclVersionsDiffer, "NCCL version mismatch", {}, {}},
    {Code::NcclVersionsDiffer, "Mismatched NCCL version", {}, {}},
    {Code::MixedNetworks, "wrong type 4 != 3", kUnlike, kCompareNetworks},
    {Code::MixedNetworks, "wrong type 3 != 4", kUnlike, kCompareNetworks},
    {Code::StrangerConnected, "wrong magic", {}, {}},
    {Code::StrangerConnected, "wrong type", {}, {}},
    // Connections that ended.
    {Code::PeerClosed, "onnection closed by remote peer", {}, {}},
    {Code::PeerClosed, "Connection reset by peer", {}, {}},
    {Code::PeerClosed, "Broken pipe", {}, {}},
    {Code::PeerClosed, "Socket recv failed", {}, {}},
    {Code::PeerClosed, "Socket send failed", {}, {}},
    {Code::PeerClosed, "[Service thread]", {}, {}},
    {Code::PeerClosed, "[Proxy ", {}, {}},
    {Code::PeerClosed, "Proxy Call to rank", {}, {}},
    {Code::PeerClosed, "ncclProxyC", {}, {}},
    {Code::PeerClosed, "is in abort state", {}, {}},
    {Code::PeerClosed, "Call to recv", {}, {}},
    {Code::PeerClosed, "Call to send", {}, {}},
    {Code::PeerClosed, "socket progress error", {}, {}},
    // Threads that found an error told before.
    {Code::GaveUp, "commReclaim: ", {}, {}},
    {Code::GaveUp, "ncclAsyncJobComplete: ", {}, {}},
    {Code::GaveUp, "ncclCommSetAsyncError: ", {}, {}},
    // Adapters.
    {Code::DeviceLost, "ibv_poll_cq", {}, {}},
    {Code::DeviceLost, "ibv_get_async_event failed", {}, {}},
    {Code::DeviceNotOpened, "Unable to query device", {}, {}},
    {Code::DeviceNotOpened, "Unable to query port", {}, {}},
    {Code::DeviceNotOpened, "ibv_open_device failed", {}, {}},
    {Code::TransferFailed, "ibv_post_send() failed", {}, {}},
    {Code::TransferFailed, "ibv_post_recv() failed", {}, {}},
};

// What else a failure's own words tell of its cause.
constexpr NetworkLine kRefined[] = {
    {Code::ConnectFailed, "next state INIT",
     "The device refuses the queue pair before any address counts: the partition (P_Key, NCCL_IB_PKEY) is "
     "not "
     "there, or the port is none that this container may use.",
     "Unset NCCL_IB_PKEY as a test; compare /sys/class/infiniband/DEVICE/ports/1/pkeys and ibv_devinfo in "
     "the pod "
     "with the node's."},
    {Code::ConnectFailed, "next state RTS",
     "The device refuses the queue pair at its last step, after the GIDs were taken: a time-out, retry count "
     "or "
     "service level that it does not have.",
     "Unset NCCL_IB_TIMEOUT, NCCL_IB_RETRY_CNT, NCCL_IB_SL and NCCL_IB_TC as a test; compare the firmware "
     "with a "
     "node where it works."},
    {Code::MemoryLock, "reg_mr",
     "Memory could not be registered with the HCA: the memory lock limit is too low, or the kernel has none "
     "to "
     "give; or it is a GPU's, and peer memory (nvidia-peermem, DMA-BUF) is missing.",
     "Look at `ulimit -l` in the container (raise LimitMEMLOCK, or add IPC_LOCK to a root container); where "
     "it is "
     "unlimited, try NCCL_NET_GDR_LEVEL=LOC once (if the job runs, it is peer memory), and look at dmesg and "
     "/proc/meminfo on the node."},
    {Code::SegmentMissing, "(size 0)",
     "A rank takes another rank's memory handle (cuMem) for a file's name: hence size 0 and a strange name. "
     "/dev/shm itself is not at fault.",
     "Set NCCL_CUMEM_HOST_ENABLE=0 on all ranks, or use a later NCCL; look for a NUMA node without memory "
     "(numactl "
     "-H)."},
};

template <class Rows>
const NetworkLine* find_row(const Rows& rows, string_view text, std::optional<Code> code) {
  text = text.substr(0, kLongestWarning);
  const auto row = std::ranges::find_if(rows, [&](const NetworkLine& each) {
    return (!code || each.code == *code) && text.find(each.words) != text.npos;
  });
  return row == std::end(rows) ? nullptr : &*row;
}

}  // namespace

bool is_harmless_warning(string_view text) {
  return std::ranges::any_of(kHarmless, [&](string_view words) { return text.find(words) != text.npos; });
}

const NetworkLine* find_network_line(string_view text) {
  return find_row(kRows, text, std::nullopt);
}

const NetworkLine* refine_line(Code code, string_view text) {
  return find_row(kRefined, text, code);
}

}  // namespace nccl_env
