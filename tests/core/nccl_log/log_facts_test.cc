// SPDX-License-Identifier: Apache-2.0
// Facts that the lines of a whole log tell together.
#include <gmock/gmock.h>

#include <string>

#include "core/nccl_log/verify_lines.h"

namespace nccl_env::log_facts_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using tests::verify_lines;

TEST(MixedNetworks, HostsWithUnlikeNetworksOrPluginsAreTold) {
  const std::string a = "gpu-1:7:8 [0] NCCL INFO ", b = "gpu-2:7:8 [0] NCCL INFO ";
  const std::string own = "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.\n",
                    path = "Plugin Path : /opt/x/libnccl-net.so\n";
  EXPECT_THAT(verify_lines(a + "Using network IB\n" + b + "Using network IBext\n").sentence,
              HasSubstr("IB on gpu-1; IBext on gpu-2"));
  EXPECT_THAT(verify_lines(a + own + b + path).sentence, StartsWith("MixedNetworks: "));
  EXPECT_TRUE(verify_lines(a + own + a + path).failures.empty()) << "one host, two jobs";
  EXPECT_TRUE(verify_lines(a + path + b + "Plugin Path : /usr/y/libnccl-net.so\n").failures.empty());
}

TEST(UnlikeValues, OfOneCommunicatorAreTold) {
  const auto rank = [](int number, const std::string& algorithm, const std::string& id) {
    const std::string name = "g" + std::to_string(number) + ":1:1 [0] NCCL INFO ";
    return name + "NCCL_ALGO set by environment to " + algorithm + "\n" + name + "Using network IB\n" + name +
           "ncclCommInitRank comm 0x1 rank " + std::to_string(number) +
           " nranks 3 cudaDev 0 busId 1 commId " + id + " - Init COMPLETE\n";
  };
  const std::string two = rank(0, "Ring", "0xa") + rank(1, "Tree", "0xa") + rank(2, "Ring", "0xa");
  EXPECT_THAT(verify_lines(two).sentence,
              HasSubstr("Line 4: NCCL_ALGO=Tree in g1:1, Ring in g0:1, g2:1. Set the variable in one place"));
  EXPECT_TRUE(verify_lines(two).sentence.starts_with("ValuesDiffer: "));
  EXPECT_FALSE(
      verify_lines(two + "g0:1:1 [0] x.cc:1 NCCL WARN NET/IB : mlx5_0:1 Got async event : port error\n")
          .sentence.starts_with("ValuesDiffer"))
      << "that is told for itself";
  EXPECT_FALSE(verify_lines(rank(0, "Ring", "0xa") + rank(1, "Tree", "0xb")).cause) << "two jobs";
}

TEST(MissingPlugin, IsWhyNcclCameToSockets) {
  const std::string info = "g0:1:1 [0] NCCL INFO ",
                    asked = info + "NCCL_NET_PLUGIN set by environment to aws-ofi\n",
                    sockets = info + "NET/IB : No device found.\n" + info + "Using network Socket\n" + info +
                              "comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0\n";
  for (const std::string& absent :
       {info + "NET/Plugin: Could not find: aws-ofi libnccl-net-aws-ofi.so. Using internal net plugin.\n",
        info + "NET/Plugin : dlerror=libnccl-net-aws-ofi.so: cannot open shared object file: No such file or "
               "directory No plugin found (libnccl-net-aws-ofi.so), using internal implementation\n"}) {
    const std::string sentence = verify_lines(asked + absent + sockets).sentence;
    EXPECT_THAT(sentence, StartsWith("PluginFailed: "));
    EXPECT_THAT(sentence, HasSubstr("Line 2: NCCL_NET_PLUGIN=aws-ofi was not found"));
    EXPECT_THAT(verify_lines(absent + sockets).sentence, StartsWith("FellBack: ")) << "nobody asked for it";
  }
}

TEST(GpuDirect, OneSideAloneIsTold) {
  const std::string a = "gpu-1:7:8 [0] NCCL INFO Channel 00 : 0[7] -> 8[7] [send] via NET/IB/1",
                    b = "gpu-2:7:8 [0] NCCL INFO Channel 00 : 0[7] -> 8[7] [receive] via NET/IB/0";
  EXPECT_THAT(verify_lines(a + "/GDRDMA\n" + b + "\n").sentence,
              HasSubstr("channels of gpu-2 are without GPU Direct RDMA, those of gpu-1 have it"));
  EXPECT_THAT(verify_lines(a + "/GDRDMA\n" + b + "/GDRDMA\n").sentence, Not(HasSubstr("without")));
  EXPECT_THAT(verify_lines(a + "/GDRDMA\n" + a + "\n").sentence, Not(HasSubstr("without"))) << "one host";
}

TEST(Efa, UnequalNumbersOfAdaptersAreTold) {
  const std::string a = "gpu-1:7:8 [0] NCCL INFO NET/OFI Selected provider is efa", b = "gpu-2" + a.substr(5);
  EXPECT_THAT(verify_lines(a + " (found 32 nics)\n" + b + " (found 31 nics)\n").sentence,
              StartsWith("MissingRail, "));
  EXPECT_TRUE(verify_lines(a + " (found 32 nics)\n" + b + " (found 32 nics)\n").findings.empty());
}

TEST(OneHost, NeedsNoNetwork) {
  const std::string info = "gpu-1:7:7 [0] NCCL INFO ", socket = info + "Using network Socket\n",
                    missing = "gpu-1:7:7 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]\n",
                    channel = info + "Channel 00 : 0[0] -> 1[1] via P2P/IPC\n";
  EXPECT_TRUE(is_good(verify_lines(missing + socket + channel).findings));
  EXPECT_FALSE(is_good(verify_lines(missing + socket).findings)) << "which may go to other hosts";
  const std::string two = info + "comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8\n";
  EXPECT_FALSE(is_good(verify_lines(missing + two + socket + channel).findings))
      << "two nodes, one of them here";
  EXPECT_TRUE(is_good(verify_lines(info + "NET/IB : No device found.\n" + socket).findings));
  const auto begins = [&](const std::string& rank, const std::string& end) {
    return verify_lines(info + "NET/IB : No device found.\n" + socket + info + "comm 0x1 rank " + rank +
                        " nranks 2 cudaDev 0 nvmlDev 0 busId 16000 commId 0x9 - Init " + end + "\n")
        .sentence;
  };
  for (const char* end : {"START", "COMPLETE"})
    EXPECT_THAT(begins("1", end), StartsWith("FellBack: ")) << end;
  EXPECT_THAT(begins("0", "START"), HasSubstr("Init COMPLETE, and NET/IB found no device"));
  EXPECT_THAT(begins("0", "COMPLETE"), HasSubstr("It shows one host"));
  EXPECT_FALSE(is_good(verify_lines(socket + info + "NCCL_IB_HCA set by environment to mlx5\n").findings));
  EXPECT_FALSE(is_good(verify_lines(socket + "gpu-2:7:7 [0] NCCL INFO Using network Socket\n").findings));
  EXPECT_THAT(verify_lines(socket + channel +
                           "gpu-1:7:7 [0] x.cc:1 NCCL WARN Missing \"iommu=pt\" from kernel command line "
                           "which can lead to system instablity or hang!\n")
                  .sentence,
              HasSubstr("boot with iommu=pt"));
}

TEST(Watchdogs, RanksThatWaitInUnlikeCallsAreNamed) {
  const auto waits = [](int rank, int number, const std::string& call, const std::string& group) {
    return "[rank" + std::to_string(rank) + "]:[E ProcessGroupNCCL.cpp:607] [" + group + "Rank " +
           std::to_string(rank) +
           "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=" + std::to_string(number) +
           ", OpType=" + call +
           ", NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600017 milliseconds before timing out.\n";
  };
  const std::string one = "PG ID 1 PG GUID 4(dp) ";
  EXPECT_THAT(verify_lines(waits(1, 1517, "ALLREDUCE", one) + waits(0, 1516, "ALLREDUCE", one)).sentence,
              HasSubstr("rank 0 waits in number 1516 (ALLREDUCE), rank 1 waits in number 1517 (ALLREDUCE): "
                        "rank 0 is behind."));
  EXPECT_THAT(verify_lines(waits(0, 7, "ALLREDUCE", one) + waits(1, 7, "BROADCAST", one)).sentence,
              StartsWith("CallsDiffer: "));
  for (const char* group : {"", "PG 1 ", "PG ID 1 "}) {
    const std::string told =
        verify_lines(waits(0, 7, "ALLREDUCE", group) + waits(1, 9, "ALLREDUCE", group)).sentence;
    EXPECT_THAT(told, StartsWith("TimedOut: ")) << "ranks of two groups may have the same number for theirs";
    EXPECT_THAT(told, HasSubstr("If these are of one process group"));
  }
  EXPECT_THAT(verify_lines(waits(0, 7, "ALLREDUCE", "") + waits(1, 7, "ALLREDUCE", "")).sentence,
              StartsWith("TimedOut: "));
  EXPECT_THAT(
      verify_lines(waits(0, 7, "ALLREDUCE", "PG ID 1 ") + waits(1, 9, "ALLREDUCE", "PG ID 2 ")).sentence,
      StartsWith("TimedOut: "))
      << "two groups";
}

TEST(NcclTests, ARunThatEndedOnOneHostNeedsNoVerbs) {
  const std::string missing = "gpu-1:7:7 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]\n",
                    end = "# Out of bounds values : 0 OK\n";
  EXPECT_TRUE(is_good(verify_lines(missing + end).findings));
  EXPECT_FALSE(is_good(verify_lines(missing).findings));
  EXPECT_FALSE(is_good(verify_lines(missing + "gpu-2:7:7 [0] NCCL INFO x\n" + end).findings));
}

TEST(NcclTests, ProcessesThatRunForThemselvesAreTold) {
  const std::string head = "# nThread 1 nGpus 1 minBytes 8\n", end = "# Avg bus bandwidth    : 3.9\n";
  EXPECT_THAT(verify_lines(head + head + end + end).sentence, StartsWith("LaunchFailed, line 2: "));
  EXPECT_THAT(verify_lines(end + end).sentence, StartsWith("LaunchFailed, line 2: "));
  EXPECT_TRUE(verify_lines(head + end + head + end).findings.empty()) << "one after the other";
}

}  // namespace
}  // namespace nccl_env::log_facts_test
