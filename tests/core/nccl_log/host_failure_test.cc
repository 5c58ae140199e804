// SPDX-License-Identifier: Apache-2.0
// Lines of programs beside NCCL, and NCCL's own that lost what stands before them.
#include <gmock/gmock.h>

#include <string>

#include "core/nccl_log/verify_lines.h"

namespace nccl_env::host_failure_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using tests::verify_lines;

std::string first_code(const std::string& text) {
  const LogVerification verification = verify_lines(text);
  return verification.findings.empty() ? "" : std::string(to_string(verification.findings.front().code));
}

TEST(HostFailure, LinesOfTheLoaderTheDriverAndTheLauncherAreRead) {
  const std::pair<const char*, const char*> lines[] = {
      {"ImportError: /x/libtorch_cuda.so: undefined symbol: ncclCommRegister", "LibraryMismatch"},
      {"python: symbol lookup error: /x/libnccl-net.so: undefined symbol: ibv_reg_dmabuf_mr",
       "LibraryMismatch"},
      {"/x/libnvshmem_host.so.3: version `NVSHMEM' not found (required by /x/a.so)", "LibraryMismatch"},
      {"./all_reduce_perf: error while loading shared libraries: libnccl.so.2: cannot open shared object "
       "file: No "
       "such file or directory",
       "LibraryMismatch"},
      {"[ 99.1] NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus.", "GpuFault"},
      {"[ 99.1] NVRM: Xid (PCI:0000:3b:00): 74, pid=4711, NVLink: fatal error", "NvlinkFabric"},
      {"[ 99.1] mlx5_core 0000:3b:00.0 ens1f0np0: Link down", "LinkDown"},
      {"RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error.", "SharedMemory"},
      {"ssh: connect to host w-1 port 22: Connection refused", "NoConnection"},
      {"[E socket.cpp:957] [c10d] The client socket has timed out after 60s while trying to connect to (a, "
       "29500).",
       "RendezvousFailed"},
      {"[E socket.cpp:1] [c10d] The IPv4 network addresses of (m-0, 29500) cannot be retrieved (gai error: "
       "-2).",
       "RendezvousFailed"},
      {"[E socket.cpp:1] [c10d] The server socket has failed to listen on [::]:29500 (errno: 98 - Address "
       "already "
       "in use).",
       "PortTaken"},
      {"[rank3]: torch.distributed.DistNetworkError: recvValue failed on SocketImpl(fd=66, addr=[a]:1, "
       "remote=[m]:29500): Connection reset by "
       "peer",
       "PeerClosed"},
      {"  traceback : Signal 9 (SIGKILL) received by PID 4711", "Killed"},
      {"Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_1:1", "NoRoute"},
      {"RuntimeError: NCCL error: invalid usage (run with NCCL_DEBUG=WARN for details)", "GaveUp"},
      {"Failed, NCCL error /src/a.cpp:295 'unknown result code'", "GaveUp"},
      {"include/socket.h:344 WARN Socket creation failed : Address family not supported by protocol",
       "NoInterface"},
      {"[rank1]: Error while creating shared memory segment /dev/shm/nccl-a1 (size 9637888)", "SharedMemory"},
      {"(Worker pid=7, ip=10.0.0.2) Call to ibv_create_cq failed with error Cannot allocate memory",
       "MemoryLock"},
      {"NCCL WARN Bootstrap : no socket interface found", "NoInterface"},
      {"UCX  ERROR mlx5_0: ibv_create_cq(cqe=4096) failed: Cannot allocate memory", "MemoryLock"},
      {"The server socket has failed to bind to [::]:80 (errno: 13 - Permission denied).", "PortTaken"},
      {"RuntimeError: Address already in use", "PortTaken"},
      {"OSError: [Errno 98] Address already in use", "PortTaken"},
      {"torch.distributed.DistBackendError: NCCL error in: ../torch/x.cpp:1333, remote process exited or "
       "there was a network error, NCCL version 2.18.6",
       "GaveUp"},
      {"torch.distributed.DistBackendError: NCCL error in: x.cpp:1, internal error, NCCL version 2.18.6",
       "GaveUp"},
      {"RuntimeError: NCCL Error 6: unknown", "GaveUp"},
      {"NCCL error in: x.cpp:1, NCCL Error 100000000: bad", "GaveUp"},
      {"NCCL error: y, NCCL Error 7: bad", "GaveUp"},
      {"UCX WARN network devices 'mlx5_0:1' are not available", "DeviceNotAvailable"},
      {"RuntimeError: cuda runtime error (101) : invalid device ordinal at Module.cpp:33", "GpuNotUsable"},
      {"undefined symbol: \"ncclCommWindowRegister\"", "LibraryMismatch"},
      {"mlx5dv_devx_create_event_channel() failed: Protocol not supported", "LibraryMismatch"},
      {"WARNING: NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=eth7 does not exist", "NoInterface"},
      {"0x0000 in ncclShmOpen(char*, unsigned long, void**) () from /x/xla_extension.so", "SharedMemory"},
      {"api: [ERROR] failed (exitcode: -9) local_rank: 1 (pid: 4711) of binary: x", "Killed"},
      {"torch.distributed.elastic.multiprocessing.api.SignalException: Process 4711 got sigval: 1", "Killed"},
      {"  ran for 721595 milliseconds before timing out", "TimedOut"},
      {"n:1:1 [0] enqueue.cc:802 NCCL WARN Cuda failure 'API call is not supported in the installed CUDA "
       "driver'",
       "GpuNotUsable"},
      {"[161.7] [h:1:0] address.c:917  UCX  ERROR address version mismatch: expected 0, actual 12",
       "LibraryMismatch"},
      {"n:1:1 [0] x.cc:1 NCCL WARN [Rem Allocator] Allocation failed (segment 0, fd 126)",
       "StrangerConnected"},
  };
  for (const auto& [line, code] : lines) EXPECT_EQ(first_code(line), code) << line;
}

TEST(HostFailure, LinesThatOnlyLookLikeOneAreNone) {
  for (const char* line : {"libibverbs: Warning: couldn't load driver 'libx-rdmav25.so': libx-rdmav25.so: "
                           "cannot open shared object file",
                           "n:1:1 [0] NCCL INFO NET/Plugin: dlerror=libnccl-net.so: cannot open shared "
                           "object file No plugin found",
                           "[W socket.cpp:1] [c10d] The client socket has failed to connect to [m]:29500 "
                           "(errno: 97 - Address family).",
                           "[W socket.cpp:1] [c10d] The client socket has failed to connect to [m]:29500 "
                           "(errno: 111 - refused).",
                           "ImportError: /x/libfoo.so: undefined symbol: foo_bar",
                           "NET/OFI Using transport protocol RDMA (platform set)",
                           "socketPollConnect: connect to 127.0.0.1<4711> returned Connection refused, "
                           "retrying (2/34) after sleep",
                           "[rank1]:[W515 07:06:42 TCPStore.cpp:125] [c10d] recvValue failed on "
                           "SocketImpl(fd=6): Failed to recv, got 0 bytes",
                           "[W515 07:06:42 socket.cpp:1] [c10d] The IPv6 network addresses of (m-0, 29500) "
                           "cannot be retrieved (gai error: -2)",
                           "usb 1-1: device eth7: Link down", "a line about process_vm_readv(2) in general"})
    EXPECT_EQ(first_code(line), "") << line;
}

TEST(HostFailure, PluginsAndNvshmemTellWhatTheirDevicesLack) {
  EXPECT_THAT(
      verify_lines(
          "n:1:1 [0] nccl_net_ofi_rdma_init:7978 NCCL WARN NET/OFI OFI fi_getinfo() call failed: No data "
          "available\n")
          .sentence,
      AllOf(StartsWith("PluginFailed: "), HasSubstr("no EFA device in the container")));
  EXPECT_EQ(
      first_code("/x/nvshmem/src/modules/transport/ibgda/ibgda.cpp:2234: NULL value Unable to create ah.\n"),
      "ConnectFailed");
}

TEST(HostFailure, APeerThatWasKilledIsNoCauseBesideAnother) {
  const std::string killed = "  traceback : Signal 9 (SIGKILL) received by PID 4711\n";
  EXPECT_EQ(
      first_code(killed + "n:1:1 [0] x.cc:1 NCCL WARN NET/IB : mlx5_0:1 Got async event : port error\n"),
      "LinkDown");
}

TEST(HostFailure, AStoreThatAnsweredLaterIsNoFailure) {
  const std::string lost =
      "[W socket.cpp:1] [c10d] The client socket has failed to connect to [m]:29500 (errno: 110 - timed "
      "out).\n";
  EXPECT_EQ(first_code(lost), "RendezvousFailed");
  const LogVerification later =
      verify_lines(lost + "n:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 - Init COMPLETE\n");
  EXPECT_TRUE(is_good(later.findings)) << later.sentence;
}

TEST(GpuDirect, IsToldWhereNoAdapterHasIt) {
  const std::string off = "n:1:1 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n",
                    on = "n:1:1 [0] NCCL INFO NET/IB : GPU Direct RDMA Enabled for HCA 1 'mlx5_1'\n";
  EXPECT_THAT(verify_lines(off).sentence, StartsWith("NoGpuDirect: "));
  EXPECT_TRUE(is_good(verify_lines(off).findings)) << "GPUs without it are in order";
  EXPECT_EQ(first_code(off + on), "");
  EXPECT_THAT(verify_lines(off).sentence, HasSubstr("Line 1: GPU Direct RDMA is off on mlx5_0."));
}

}  // namespace
}  // namespace nccl_env::host_failure_test
