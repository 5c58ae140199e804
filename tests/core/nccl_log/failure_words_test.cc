// SPDX-License-Identifier: Apache-2.0
// Diagnoses that go no further than a failure's own words.
#include "nccl_env/core/nccl_log/failure_words.h"

#include <gmock/gmock.h>

#include "core/nccl_log/verify_lines.h"

namespace nccl_env::failure_words_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using tests::verify_lines;

std::string diagnosis(const std::string& text) {
  return verify_lines(text).sentence;
}

const std::string kInfo = "n:1:1 [0] NCCL INFO ", kWarn = "n:1:1 [0] x.cc:1 NCCL WARN ";

TEST(FailureWords, OfMulticastBlameTheFabricOnlyForErrorsOfIts) {
  const std::string nvls = "n:1:1 [0] transport/nvls.cc:9 NCCL WARN Cuda failure ";
  const std::string driver = kInfo + "cudaDriverVersion 12020\n";
  EXPECT_THAT(diagnosis(driver + nvls + "1 'invalid argument'\n"),
              AllOf(HasSubstr("does not tell whether"), HasSubstr("CUDA driver 12.2"),
                    HasSubstr("NCCL_NVLS_ENABLE=0 as a test")));
  EXPECT_THAT(diagnosis(driver + nvls + "999 'unknown error'\n"),
              AllOf(HasSubstr("is not in order"), Not(HasSubstr("does not tell whether"))));
}

TEST(FailureWords, OfRegisteredMemoryBlameNoLimitThatIsNotShown) {
  const std::string registers = "ibv_reg_mr_iova2 failed with error Cannot allocate memory\n";
  EXPECT_THAT(diagnosis(kWarn + "Call to " + registers), HasSubstr("or the kernel has none to give"));
  EXPECT_THAT(std::string(remedy_of(verify_lines(kWarn + "Call to " + registers).findings.at(0))),
              HasSubstr("/proc/meminfo"));
  EXPECT_THAT(diagnosis(kWarn + "Call to ibv_create_cq failed with error Cannot allocate memory\n"),
              HasSubstr("most often the memory lock limit"));
}

TEST(FailureWords, OfAGpuOfTheNodeDoubtTheNodeWhereGpusRepeat) {
  const std::string refused = "h:20:20 [0] NCCL WARN failed to open CUDA IPC handle : 11 invalid argument\n";
  const auto channel = [](const std::string& process, const std::string& ends) {
    return "h:" + process + ":9 [0] NCCL INFO " + ends + " via P2P/IPC\n";
  };
  const std::string repeat = channel("20", "0[0] -> 1[1]") + channel("41020", "8[0] -> 9[1]");
  EXPECT_THAT(diagnosis(repeat + refused),
              AllOf(StartsWith("GpuPeer: "), HasSubstr("NCCL_HOSTID"), Not(HasSubstr("Not the network"))));
  EXPECT_THAT(diagnosis(channel("20", "0[0] -> 1[1]") + channel("24", "8[0] -> 9[1]") + refused),
              HasSubstr("Not the network"))
      << "started together: several communicators of one host";
  EXPECT_THAT(diagnosis(channel("20", "0[0] -> 1[0]") + channel("41020", "1[0] -> 2[0]") + refused),
              HasSubstr("Not the network"))
      << "each rank sees one GPU alone";
}

TEST(FailureWords, OfAnAddressOfTwoHostsNameThem) {
  const auto of = [](const std::string& host, const std::string& address) {
    return host + ":1:1 [0] NCCL INFO Bootstrap : Using eth0:" + address + "<0>\n";
  };
  const std::string refused = kWarn + "socketStartConnect: Connect to 172.17.0.2<9> failed : Refused\n";
  EXPECT_THAT(diagnosis(of("n", "172.17.0.2") + of("m", "172.17.0.2") + refused),
              AllOf(StartsWith("UnreachableInterface: "), HasSubstr("is the address of m, n")));
  EXPECT_THAT(diagnosis(of("n", "172.17.0.2") + of("m", "172.17.0.3") + refused),
              StartsWith("NoConnection: "));
}

TEST(FailureWords, OfUnlikeVersionsComeBeforeWhatTheyExchange) {
  const std::string two = "NCCL version 2.19.3+cuda12.3\nNCCL version 2.14.3+cuda11.7\n";
  const std::string one = "NCCL version 2.19.3+cuda12.3\nNCCL error in: a.cpp:1, NCCL version 2.19.3\n";
  const std::string family =
      kWarn + "ncclSocketInit: connecting to address  with family 0 is neither AF_INET(2) nor AF_INET6(10)\n";
  EXPECT_THAT(diagnosis(two + family), StartsWith("NcclVersionsDiffer: "));
  EXPECT_THAT(diagnosis(one + family), StartsWith("NoInterface: "));
  const std::string full = kWarn + "Error: failed to extend /dev/shm/nccl-x to 9 bytes\n";
  EXPECT_THAT(diagnosis(two + full), StartsWith("SharedMemory: "));
  EXPECT_EQ(verify_lines(one).findings.size(), 1u) << "PyTorch tells its NCCL without CUDA's version";
}

TEST(FailureWords, OfUcxKnowALinkLocalRowOfRoceAlone) {
  const std::string error = "[1.0] [h:9:0]  ib_mlx5_log.c:110  UCX  ERROR ",
                    retry = error + "Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15)\n",
                    pair = error + "RC QP 0x2a91 wqe[2]: SEND s-- [rqpn 0x77 ";
  EXPECT_THAT(diagnosis(retry + pair + "rmac 24:8a:07:1d:02:61 sgix 0 dgid fe80::1 tc 0]\n"),
              AllOf(StartsWith("LinkLocalGid: "), HasSubstr("UCX_IB_GID_INDEX")));
  EXPECT_THAT(diagnosis(retry + pair + "rlid 6 dgid fe80::1]\n"), StartsWith("NoAnswer: "));
}

TEST(Sockets, AreNoFallBackWhereEachChannelIsInsideTheNode) {
  const std::string none = kInfo + "NET/IB : No device found.\n";
  const std::string local = kInfo + "Channel 00 : 0[0] -> 1[1] via P2P/IPC\n";
  EXPECT_THAT(diagnosis(none), HasSubstr("It shows one host"));
  EXPECT_THAT(diagnosis(none + kInfo + "NCCL_IB_HCA set by environment to mlx5\n"), StartsWith("FellBack: "));
  EXPECT_FALSE(verify_lines(none + local).fell_back);
  EXPECT_TRUE(verify_lines(none + local + kInfo + "Channel 00 : 1[1] -> 2[0] via NET/Socket/0\n").fell_back);
  EXPECT_TRUE(verify_lines(none + local + "m:1:1 [0] NCCL INFO Using network Socket\n").fell_back)
      << "two hosts";
}

TEST(TestTable, WithoutARowIsACollectiveThatHasNotEnded) {
  const std::string start = kInfo + "comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 - Init COMPLETE\n" + kInfo +
                            "Channel 00 : 0[0] -> 1[1] via P2P/IPC\n" +
                            "#       size         count    type   redop     time   algbw   busbw  error\n";
  EXPECT_THAT(diagnosis(start), AllOf(StartsWith("TimedOut, "), HasSubstr("NCCL_P2P_DISABLE=1")));
  EXPECT_THAT(
      diagnosis(start + "           8             2   float     sum    20.71    0.00    0.00  0e+00\n"),
      AllOf(HasSubstr("tells no failure"), HasSubstr("Nothing to do")));
}

TEST(NoFailure, IsNothingToDoOnlyOnceTheJobWentOn) {
  const std::string network = kInfo + "Using network IB\n";
  EXPECT_THAT(diagnosis(network), AllOf(HasSubstr("was cut"), Not(HasSubstr("Nothing to do"))));
  EXPECT_THAT(diagnosis(network + kInfo + "comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1 - Destroy COMPLETE\n"),
              HasSubstr("Nothing to do"));
  EXPECT_THAT(diagnosis(network + "Segmentation fault (core dumped)\n"), HasSubstr("process crashed"));
}

TEST(FailureWords, OfAnEmptyRowWithoutItsGidClaimNoMoreThanTheErrorSays) {
  const std::string told = diagnosis(
      "n:1:1 [0] misc/ibvwrap.cc:262 NCCL WARN Call to ibv_modify_qp failed with error No data available "
      "errno 61\n");
  EXPECT_TRUE(told.starts_with("EmptyGid: The port has no GID at that index (ENODATA): ")) << told;
}

}  // namespace
}  // namespace nccl_env::failure_words_test
