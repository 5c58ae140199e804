// SPDX-License-Identifier: Apache-2.0
// What the lines of a whole log tell together.
#include <gmock/gmock.h>

#include <sstream>
#include <string>

#include "nccl_env/core/nccl_log/log_verify.h"
#include "nccl_env/core/nccl_log/nccl_log.h"

namespace nccl_env::log_facts_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

LogVerification verify_lines(const std::string& text) {
  NcclLogReader reader;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) reader.read_line(line);
  return verify_log(reader.log(), {});
}

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
