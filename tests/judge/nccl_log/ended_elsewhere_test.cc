// SPDX-License-Identifier: Apache-2.0
// Errors that are not the network's: alone they are no failure, and what follows one is its consequence.
#include "judge/nccl_log/verify_lines.h"

namespace nccl_env::ended_elsewhere_test {
namespace {

using namespace nccl_env::tests;

const std::string kNetwork = "gpu-1:9:9 [0] NCCL INFO Using network IB\n";
const std::string kClosed = "gpu-1:9:9 [0] x.cc:1 NCCL WARN Connection closed by remote peer gpu-2<1>\n";
const std::string kNoAnswer =
    "gpu-1:9:9 [0] x.cc:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4711> with status=12 opcode=0 "
    "len=0 "
    "vendor err 129 (Send) hca mlx5_0\n";

class Ends : public ::testing::TestWithParam<std::string> {};

TEST_P(Ends, IsTheCauseOfWhatFollowsIt) {
  for (const std::string& follows : {kClosed, kNoAnswer}) {
    const LogVerification verification = verify_lines(kNetwork + GetParam() + "\n" + follows);
    EXPECT_THAT(verification.sentence, StartsWith("EndedElsewhere: "));
    EXPECT_THAT(verification.sentence, HasSubstr("Line 2: "));
    EXPECT_THAT(verification.sentence, HasSubstr("It may have led to "));
    EXPECT_FALSE(is_good(verification.findings));
  }
}

TEST_P(Ends, IsNoFailureByItself) {
  const LogVerification verification = verify_lines(kNetwork + GetParam() + "\n");
  EXPECT_TRUE(is_good(verification.findings));
  EXPECT_THAT(verification.sentence,
              StartsWith("No line here speaks of a failure of the network; the last error is \"" +
                         GetParam() + "\""));
  EXPECT_FALSE(read_lines(GetParam() + "\n").speaks());
}

TEST_P(Ends, DidNotLeadToWhatStandsBeforeIt) {
  EXPECT_THAT(verify_lines(kNetwork + kNoAnswer + GetParam() + "\n").sentence, StartsWith("NoAnswer: "));
  EXPECT_THAT(verify_lines(kNetwork + kClosed + GetParam() + "\n" + kNoAnswer).sentence,
              Not(HasSubstr("EndedElsewhere")));
}

TEST_P(Ends, DidNotEndAProgramThatWentOn) {
  std::string steps;
  for (int step = 0; step < 30; ++step) steps += "step " + std::to_string(step) + " loss 2.1\n";
  EXPECT_THAT(verify_lines(kNetwork + GetParam() + "\n" + steps + kNoAnswer).sentence,
              StartsWith("NoAnswer: "));
  const std::string met =
      "gpu-1:9:9 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1 - Init COMPLETE\n";
  EXPECT_THAT(verify_lines(kNetwork + GetParam() + "\n" + met + kNoAnswer).sentence,
              StartsWith("NoAnswer: "));
}

INSTANTIATE_TEST_SUITE_P(
    EndedElsewhere, Ends,
    ::testing::Values("[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
                      "Out of memory: Killed process 4711 (python)", "Killed", "State: OOMKilled",
                      "train.sh: line 3: 12 Segmentation fault (core dumped) python train.py",
                      "Caught signal 11 (SIGSEGV)", "ValueError: loss is NaN",
                      "RuntimeError: CUDA error: an illegal memory access was encountered",
                      "Assertion `i < n` failed: device-side assert triggered", "AssertionError",
                      "NVRM: Xid (PCI:0000:1a:00): 79, GPU has fallen off the bus.",
                      "ImportError: libfoo.so: undefined symbol: bar"));

TEST(EndedElsewhere, IsNoErrorThatFollowsFromAnother) {
  for (const std::string line :
       {"torch.distributed.DistBackendError: NCCL error in: x.cpp:1", "ConnectionResetError: [Errno 104]",
        "RuntimeError: Connection closed by peer", "TimeoutError: the store", "KeyboardInterrupt",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", "INFO: all errors: none",
        "Exception ignored in: <function x at 0x7f>", "the server refuses the prompt: too long"})
    EXPECT_FALSE(read_lines(line + "\n").last_error) << line;
}

TEST(EndedElsewhere, IsWhatNcclItselfTellsOfCudaAndNotOfAPort) {
  const std::string failed = "gpu-1:9:9 [0] x.cc:1 NCCL WARN Cuda failure 2 'out of memory'\n";
  const LogVerification verification = verify_lines(kNetwork + failed + kClosed);
  EXPECT_THAT(verification.sentence, StartsWith("EndedElsewhere: "));
  EXPECT_FALSE(is_good(verification.findings));
  EXPECT_THAT(verify_lines(kNetwork + "gpu-1:9:9 [0] x.cc:1 NCCL WARN never seen\n").sentence,
              StartsWith("UnknownWarning: "))
      << "another one is quoted without a cause";
  const std::string port = "gpu-1:9:9 [0] x.cc:1 NCCL WARN NET/IB : mlx5_0:1 Got async event : port error\n";
  EXPECT_THAT(verify_lines(kNetwork + "Killed\n" + port + kNoAnswer).sentence, StartsWith("LinkDown: "));
}

}  // namespace
}  // namespace nccl_env::ended_elsewhere_test
