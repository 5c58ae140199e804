// SPDX-License-Identifier: Apache-2.0
// A failure in the light of its whole log, and facts that the lines of one tell together.
#include <string>

#include "judge/nccl_log/verify_lines.h"

namespace nccl_env::failure_context_test {
namespace {

using namespace nccl_env::tests;

const std::string kInfo = "n:1:1 [0] NCCL INFO ", kWarn = "n:1:1 [0] x.cc:1 NCCL WARN ";

std::string diagnosis(const std::string& text) {
  return verify_lines(text).sentence;
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
  const std::string ended = "# Out of bounds values : 0 OK\n";  // a run of nccl-tests
  EXPECT_TRUE(is_good(verify_lines(missing + ended).findings));
  EXPECT_FALSE(is_good(verify_lines(missing).findings));
  EXPECT_FALSE(is_good(verify_lines(missing + "gpu-2:7:7 [0] NCCL INFO x\n" + ended).findings));
}

}  // namespace
}  // namespace nccl_env::failure_context_test
