// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/network_lines.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "nccl_env/core/nccl_log/log_text.h"

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

// In the order of their weight, since a line has several.
struct Words {
  Code code;
  std::array<string_view, 10> any;  // the empty ones behind them are found in no text
};
// clang-format off
constexpr Words kWords[] = {
    {Code::NoInterface, {"o socket interface found", "o interface found", "No IP interface found",
      "No usable listening interface found", "verify NCCL_OOB_NET_IFNAME", "ddress family not supported",
      "Unsupported address family", "is neither AF_INET"}},
    {Code::GidTypeUnreadable, {" failed in ncclIbRoceGetVersionNum"}},
    {Code::NetworkNotFound, {"Error: network ", "Failed to initialize any NET plugin", "Network returned 0 device"}},
    // A segment that another rank made, and that is not here; then those that cannot be made.
    {Code::SegmentMissing, {"attaching to shared memory segment", "failed to open /dev/shm"}},
    {Code::SharedMemory, {"/dev/shm/", "shared memory segment", "posix_fallocate failed", "shm_open failed",
      "shared memory file", "failed to extend ", "failure in mmap of", "Unable to allocate shared memory"}},
    // Ranks that are unlike each other, and strangers.
    {Code::MissingRail, {"mixed local Net device counts", "has a different number of devices"}},
    {Code::MixedLinks, {"Attempted to connect incompatible devices: ", "different link_layer",
      "merge incompatible devices", "device is incompatible with the local"}},
    {Code::NcclVersionsDiffer, {"NCCL version mismatch", "Mismatched NCCL version"}},
    {Code::MixedNetworks, {"wrong type 4 != 3", "wrong type 3 != 4"}},
    {Code::StrangerConnected, {"wrong magic", "wrong type"}},
    // Connections that ended.
    {Code::PeerClosed, {"onnection closed by remote peer", "Connection reset by peer", "Broken pipe",
      "Socket recv failed", "Socket send failed"}},
    {Code::PeerClosed, {"[Service thread]", "[Proxy ", "Proxy Call to rank", "ncclProxyC", "is in abort state",
      "Call to recv", "Call to send", "socket progress error"}},
    // Threads that found an error told before.
    {Code::GaveUp, {"commReclaim: ", "ncclAsyncJobComplete: ", "ncclCommSetAsyncError: "}},
    // Adapters.
    {Code::DeviceLost, {"ibv_poll_cq", "ibv_get_async_event failed"}},
    {Code::DeviceNotOpened, {"Unable to open device ", "Unable to query device", "Unable to query port", "ibv_open_device failed"}},
    {Code::TransferFailed, {"ibv_post_send() failed", "ibv_post_recv() failed"}},
};
// clang-format on

// Name the cause more closely, by a failure's own words.
constexpr NetworkLine kRefined[] = {
    {Code::NoInterface, "interface found in the same subnet as remote address",
     "NCCL_COMM_ID is set, and its address is in no subnet of an interface that this process may use: NCCL "
     "asks "
     "for one there.",
     "Give NCCL_COMM_ID an address of rank 0 in a subnet that all hosts have, or leave it out: PyTorch, MPI "
     "and "
     "others exchange NCCL's id themselves."},
    {Code::MixedNetworks, "wrong type ",
     "A rank whose network is InfiniBand or RoCE connected to one whose network is sockets, mostly since one "
     "node's devices are not found.",
     "Compare 'Using network' in all ranks' logs (nccl-env verify takes them all); give the odd node its "
     "devices, "
     "or set NCCL_IB_DISABLE=1 on all as a test."},
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

}  // namespace

bool is_harmless_warning(string_view text) {
  return has_any(text, kHarmless);
}

std::optional<Code> code_of_warning(string_view text) {
  text = text.substr(0, kLongestWarning);
  const auto row = std::ranges::find_if(kWords, [&](const Words& each) { return has_any(text, each.any); });
  return row == std::end(kWords) ? std::nullopt : std::optional(row->code);
}

const NetworkLine* refine_line(Code code, string_view text) {
  const auto row = std::ranges::find_if(
      kRefined, [&](const NetworkLine& each) { return each.code == code && has(text, each.words); });
  return row == std::end(kRefined) ? nullptr : &*row;
}

}  // namespace nccl_env
