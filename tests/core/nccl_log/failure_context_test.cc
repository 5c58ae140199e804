// SPDX-License-Identifier: Apache-2.0
// A failure in the light of its whole log.
#include "nccl_env/core/nccl_log/failure_context.h"

#include <gmock/gmock.h>

#include <sstream>

#include "nccl_env/core/nccl_log/log_verify.h"

namespace nccl_env::failure_context_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kInfo = "n:1:1 [0] NCCL INFO ", kWarn = "n:1:1 [0] x.cc:1 NCCL WARN ";

NcclLog read(const std::string& text) {
  NcclLogReader reader;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) reader.read_line(line);
  return reader.log();
}

std::string diagnosis(const std::string& text) {
  return verify_log(read(text), {}).sentence;
}

TEST(FailureContext, OfAConnectionKnowsTheHostsOwnBridges) {
  const std::string refused = kWarn + "Net : Connect to 10.7.0.1<40553> failed : Connection refused\n";
  const std::string sockets =
      kInfo + "NET/Socket : Using [0]bond0:10.61.4.31<0> [1]br-05ab815fa14e:10.7.0.1<0>\n";
  EXPECT_THAT(diagnosis(sockets + refused), StartsWith("UnreachableInterface: "));
  EXPECT_THAT(diagnosis(sockets + refused), HasSubstr("10.7.0.1 is on this host, too, on br-05ab815fa14e"));
  EXPECT_THAT(diagnosis(refused), StartsWith("NoConnection: "));
  EXPECT_THAT(diagnosis(refused), HasSubstr("Refused: the host answers"));
  EXPECT_THAT(diagnosis(kInfo + "NET/Socket : Using [0]bond0:10.7.0.1<0>\n" + refused),
              StartsWith("NoConnection: "))
      << "an interface that other hosts reach";
  EXPECT_THAT(diagnosis(kWarn + "Net : Connect to 172.17.0.1<4> failed : Connection timed out\n"),
              HasSubstr("Docker gives 172.17.0.1 to its bridge on each host."));
  EXPECT_THAT(diagnosis(kWarn + "Net : Connect to 172.17.0.12<4> failed : Connection timed out\n"),
              HasSubstr("NoConnection: "));
}

TEST(FailureContext, AnInterfaceBesideTheFirstIsTheLeadOfAJobThatHangs) {
  const std::string sockets =
      kInfo + "NET/Socket : Using [0]ens5:10.40.3.18<0> [1]veth61c:fe80::18ab%veth61c<0>\n";
  const std::string network = kInfo + "Using network Socket\n";
  const std::string across = kInfo + "Channel 00 : 1[1e0] -> 0[1e0] [receive] via NET/Socket/0\n";
  const std::string hangs = kInfo + "comm 0x5 rank 0 nranks 2 - Init START\n" + sockets + network + across;
  EXPECT_THAT(diagnosis(hangs), StartsWith("UnreachableInterface: "));
  EXPECT_THAT(diagnosis(hangs), HasSubstr("veth61c"));
  const std::string verbs = kWarn + "Failed to open libibverbs.so[.1]\n";
  EXPECT_THAT(diagnosis(verbs + hangs), Not(HasSubstr("led to NoVerbsLibrary")));
  const std::string met = kInfo + "comm 0x5 rank 0 nranks 2 cudaDev 0 busId 1 - Init COMPLETE\n";
  EXPECT_THAT(diagnosis(hangs + met), Not(HasSubstr("UnreachableInterface: ")));
  EXPECT_THAT(diagnosis(hangs + kWarn + "Net : Connect to 10.40.3.19<4> failed : Connection refused\n"),
              StartsWith("NoConnection: "));
}

TEST(FailureContext, OfAnOldNcclOnRoceNamesTheIndexThatItTakes) {
  const std::string no_answer =
      kWarn + "NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129\n";
  const std::string roce = kInfo + "NET/IB : Using [0]mlx5_0:1/RoCE ; OOB eth0:10.44.7.21<0>\n";
  const std::string old_one = "NCCL version 2.7.8+cuda10.2\n", new_one = "NCCL version 2.21.5+cuda12.4\n";
  const std::string takes = "takes GID index 0 on RoCE";
  EXPECT_THAT(diagnosis(old_one + roce + no_answer), HasSubstr(takes));
  EXPECT_THAT(diagnosis(new_one + roce + no_answer), Not(HasSubstr(takes)));
  EXPECT_THAT(diagnosis(old_one + no_answer), Not(HasSubstr(takes))) << "the link is not known";
  const std::string index = kInfo + "NCCL_IB_GID_INDEX set by environment to ";
  EXPECT_THAT(diagnosis(old_one + index + "3.\n" + roce + no_answer), Not(HasSubstr(takes)));
  EXPECT_THAT(diagnosis(new_one + index + "0.\n" + roce + no_answer), HasSubstr(takes));
}

TEST(FailureContext, OfAHangNamesBridgesThatSocketsTake) {
  const std::string sockets = kInfo +
                              "NET/Socket : Using [0]bond0:10.61.4.31<0> [1]br-05ab815fa14e:10.7.0.1<0>\n" +
                              kInfo + "Using network Socket\n";
  const std::string start = kInfo + "comm 0x5 rank 0 nranks 2 cudaDev 0 busId 1 - Init START\n";
  const std::string takes = "sockets also take br-05ab815fa14e";
  EXPECT_THAT(diagnosis(sockets + start), HasSubstr(takes))
      << "a job that may be of one host did not fall back";
  EXPECT_THAT(diagnosis(kInfo + "NCCL_IB_HCA set by environment to mlx5\n" + sockets + start),
              HasSubstr("FellBack"));
  EXPECT_THAT(diagnosis(kInfo + "NCCL_IB_DISABLE set by environment to 1.\n" + sockets + start),
              HasSubstr(takes));
  EXPECT_THAT(diagnosis(sockets + kInfo + "comm 0x5 rank 0 nRanks 2 nNodes 1 localRanks 2\n" + start),
              Not(HasSubstr(takes)));
}

TEST(FailureContext, OfATransferComparesTheMtuOfQueuePairs) {
  const auto pair = [](const std::string& host, const std::string& mtu) {
    return host + ":1:1 [0] NCCL INFO NET/IB: IbDev 0 Port 1 qpn 211 mtu " + mtu + " LID 0 subnet-prefix 0\n";
  };
  const std::string refused =
      kWarn + "NET/IB : Got completion from peer b<1> with status=9 opcode=0 len=0 vendor err 1\n";
  EXPECT_THAT(diagnosis(pair("a", "5") + pair("b", "3") + refused),
              HasSubstr("The ports differ in MTU: 1024 on b, 4096 on a."));
  EXPECT_THAT(diagnosis(pair("a", "5") + pair("b", "5") + refused), Not(HasSubstr("The ports differ")));
}

}  // namespace
}  // namespace nccl_env::failure_context_test
