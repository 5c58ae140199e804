// SPDX-License-Identifier: Apache-2.0
// Facts that the lines of a whole log tell together.
#include <gmock/gmock.h>

#include <string>

#include "core/nccl_log/verify_lines.h"

namespace nccl_env::log_facts_test {
namespace {

using ::testing::HasSubstr;
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
    EXPECT_THAT(sentence, StartsWith("NetworkNotFound: "));
    EXPECT_THAT(sentence, HasSubstr("Line 2: NCCL_NET_PLUGIN=aws-ofi was not found"));
    EXPECT_THAT(verify_lines(absent + sockets).sentence, StartsWith("FellBack: ")) << "nobody asked for it";
  }
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
  EXPECT_FALSE(is_good(verify_lines(socket + info + "NCCL_IB_HCA set by environment to mlx5\n").findings));
  EXPECT_FALSE(is_good(verify_lines(socket + "gpu-2:7:7 [0] NCCL INFO Using network Socket\n").findings));
}

TEST(NcclTests, ARunThatEndedOnOneHostNeedsNoVerbs) {
  const std::string missing = "gpu-1:7:7 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]\n",
                    end = "# Out of bounds values : 0 OK\n";
  EXPECT_TRUE(is_good(verify_lines(missing + end).findings));
  EXPECT_FALSE(is_good(verify_lines(missing).findings));
  EXPECT_FALSE(is_good(verify_lines(missing + "gpu-2:7:7 [0] NCCL INFO x\n" + end).findings));
}

}  // namespace
}  // namespace nccl_env::log_facts_test
