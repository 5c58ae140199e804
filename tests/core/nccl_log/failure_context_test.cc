// SPDX-License-Identifier: Apache-2.0
// A failure in the light of its whole log.
#include "nccl_env/core/nccl_log/failure_context.h"

#include <gmock/gmock.h>

#include <sstream>

#include "nccl_env/core/nccl_log/log_verify.h"

namespace nccl_env::failure_context_test {
namespace {

using ::testing::AllOf;
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

TEST(FailureContext, OfATimeOutTellsWhatEndedBefore) {
  const auto timed_out = [](const std::string& number) {
    return "[rank0]:[E1] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=" + number +
           ", OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1) ran for 1000 milliseconds\n";
  };
  const std::string p2p = kInfo + "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n";
  const std::string nodes = kInfo + "comm 0x5 rank 0 nRanks 2 nNodes ";
  EXPECT_THAT(diagnosis(nodes + "1 localRanks 2\n" + p2p + timed_out("1")),
              HasSubstr("try NCCL_P2P_DISABLE=1 once"));
  EXPECT_THAT(diagnosis(nodes + "2 localRanks 1\n" + p2p + timed_out("1")),
              Not(HasSubstr("NCCL_P2P_DISABLE")));
  EXPECT_THAT(diagnosis(timed_out("7") + "last enqueued work: 7, last completed work: 6\n"),
              HasSubstr("The 6 before it ended well, so the network worked until then"));
  EXPECT_THAT(diagnosis(timed_out("7")), Not(HasSubstr("the network worked"))) << "which nothing shows";
  EXPECT_THAT(diagnosis(timed_out("7") + "last enqueued work: 99, last completed work: 98\n"),
              Not(HasSubstr("the network worked")))
      << "another group's";
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

TEST(FailureContext, OfAHangNamesTheRankThatTellsNoTimeOut) {
  std::string text;
  for (const std::string rank : {"0", "1", "2", "3"})
    text += "n" + rank + ":1:1 [0] NCCL INFO comm 0x5 rank " + rank +
            " nranks 4 cudaDev 0 busId 1 - Init COMPLETE\n";
  const auto waits = [](const std::string& rank) {
    return "[rank" + rank + "]:[E] ProcessGroupNCCL.cpp:632] [Rank " + rank +
           "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=88, OpType=ALLREDUCE, NumelIn=4, "
           "NumelOut=4, Timeout(ms)=600000) ran for 600037 milliseconds before timing out.\n";
  };
  EXPECT_THAT(diagnosis(text + waits("0") + waits("1") + waits("3")),
              HasSubstr("No time-out is of rank 2 of 4: most likely the others waited for it."));
  EXPECT_THAT(diagnosis(text + waits("0") + waits("1")), Not(HasSubstr("No time-out is of")));
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

TEST(FailureContext, OfASegmentKnowsWhoFellBackFromCumem) {
  const std::string missing =
      kWarn + "Error: failed to open /dev/shm/nccl-, error: No such file or directory (2)\n";
  const std::string fell_back = kInfo +
                                "cuMem host allocations do not appear to be working; falling back to a "
                                "/dev/shm/ based implementation.\n";
  EXPECT_THAT(diagnosis(missing), StartsWith("SegmentMissing: "));
  EXPECT_THAT(diagnosis(fell_back + missing), StartsWith("CumemHost: "));
  EXPECT_THAT(diagnosis(fell_back + kInfo + "Using network IB\n"), Not(HasSubstr("CumemHost")));
  const std::string cuda = "n:1:1 [0] transport/shm.cc:9 NCCL WARN Cuda failure 1 'invalid argument'\n";
  EXPECT_THAT(diagnosis(cuda), StartsWith("CumemHost: "));
  EXPECT_THAT(diagnosis("NCCL version 2.20.5+cuda12.4\n" + cuda), StartsWith("NotTheNetwork: "))
      << "older than cuMem";
}

TEST(FailureContext, OfASizeReadsWhatAStrangerSent) {
  const std::string http = kWarn + "Message truncated : received 542393671 bytes instead of 8\n";
  EXPECT_THAT(diagnosis(http), StartsWith("StrangerConnected: "));
  EXPECT_THAT(diagnosis(http), HasSubstr("\"GET \""));
  EXPECT_THAT(diagnosis(kWarn + "Message truncated : received 256 bytes instead of 4\n"),
              StartsWith("CallsDiffer: "));
}

TEST(FailureContext, OfAClosedConnectionKnowsThatRanksStillMet) {
  const std::string closed = kWarn + "socketProgress: Connection closed by remote peer 10.9.9.9<36138>\n";
  EXPECT_THAT(diagnosis(closed + kInfo + "misc/socket.cc:80 -> 6\n" + kInfo + "bootstrap.cc:701 -> 6\n"),
              StartsWith("BootstrapClosed: "));
  EXPECT_THAT(diagnosis(closed + kInfo + "proxy.cc:80 -> 6\n"), StartsWith("PeerClosed: "));
  EXPECT_THAT(diagnosis(closed + "n:1:2 [0] NCCL INFO bootstrap.cc:701 -> 6\n"), StartsWith("PeerClosed: "))
      << "another thread's";
}

TEST(FailureContext, OfAnAddressWithoutAFamilyBlamesNoInterfaceThatWasFound) {
  const std::string family =
      kWarn + "ncclSocketInit: connecting to address  with family 0 is neither AF_INET(2) nor AF_INET6(10)\n";
  EXPECT_THAT(diagnosis(family), StartsWith("NoInterface: "));
  const std::string found = kInfo + "Bootstrap : Using ens7:10.128.0.33<0>\n";
  EXPECT_THAT(diagnosis(found + family), StartsWith("UnknownWarning: "));
  const std::string named = kInfo + "NCCL_SOCKET_IFNAME set by environment to eth2\n";
  EXPECT_THAT(diagnosis(named + found + family), AllOf(StartsWith("UnknownWarning: "), HasSubstr("plugin")));
  EXPECT_THAT(diagnosis(named + found + "m:9:9 [0] NCCL INFO cudaDriverVersion 12020\n" + family),
              StartsWith("NoInterface: "))
      << "the other process tells of none";
}

TEST(FailureContext, OfCudasResultAloneIsNotTheNetwork) {
  const std::string result = "Test NCCL failure common.cu:9 'unhandled cuda error'\n";
  EXPECT_THAT(diagnosis(result), StartsWith("NotTheNetwork: "));
  EXPECT_THAT(diagnosis(kWarn + "Duplicate GPU detected : rank 0 and rank 1\n" + result),
              StartsWith("DuplicateGpu: "));
}

// NCCL's last warning, which PyTorch repeats, counts once.
TEST(FailureContext, HasNoSecondTimeFromLastError) {
  const std::string text = "Error while creating shared memory segment /dev/shm/nccl-a (size 9)";
  const NcclLog log = read(kWarn + text + "\nncclSystemError: x\nLast error:\n" + text + "\n");
  ASSERT_FALSE(log.failures.empty());
  EXPECT_EQ(log.failures[0].times, 1u);
}

TEST(OldNccl, DoesNotSayItsNameInItsMarks) {
  const std::string old_one =
      "node4:28:28 [0] include/socket.h:166 WARN Call to socket failed : Too many open files\n";
  EXPECT_THAT(diagnosis("node4:28:28 [0] INFO Using internal Network Socket\n" + old_one),
              StartsWith("OpenFiles: "));
  for (const std::string line :
       {"2026-01-01 10:00:00 INFO Too many open files", "app:1:2 WARN Too many open files",
        "[0] file.cc:1 WARN Too many open files"})
    EXPECT_EQ(read(line + "\n").nccl_lines, 0u) << line;
}

TEST(OldNccl, BootstrapsOverItsFirstInterface) {
  const std::string lo = kInfo + "NET : Using interface lo:127.0.0.1<0>\n",
                    eth0 = kInfo + "NET : Using interface eth0:10.0.0.1<0>\n";
  EXPECT_THAT(diagnosis(lo + eth0), StartsWith("UnreachableInterface: "));
  EXPECT_THAT(diagnosis(eth0 + lo), Not(HasSubstr("UnreachableInterface")));
}

}  // namespace
}  // namespace nccl_env::failure_context_test
