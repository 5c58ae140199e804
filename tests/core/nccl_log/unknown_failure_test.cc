// SPDX-License-Identifier: Apache-2.0
// Errors in lines that no row knows.
#include <gmock/gmock.h>

#include <string>
#include <utility>

#include "core/nccl_log/verify_lines.h"

namespace nccl_env::unknown_failure_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using tests::verify_lines;

TEST(UnknownFailure, AnExceptionIsQuotedWhereNothingFailedBefore) {
  const std::string exception = "[rank3]: ValueError: Tokenizer has no padding token\n";
  const std::string answer = verify_lines("loading\n" + exception).sentence;
  EXPECT_THAT(answer, StartsWith("UnknownWarning: "));
  EXPECT_THAT(answer, HasSubstr("Line 2: ValueError: Tokenizer has no padding token."));
  const std::string closed = "n:1:1 [0] x.cc:1 NCCL WARN Connection closed by remote peer b<1>\n";
  EXPECT_THAT(verify_lines(exception + closed).sentence, HasSubstr("Tokenizer"));
  EXPECT_THAT(verify_lines(closed + exception).sentence, StartsWith("PeerClosed: "));
  EXPECT_THAT(verify_lines("terminate called after throwing\n  what():  no room\n").sentence,
              HasSubstr("Line 2: what():  no room."));
}

TEST(UnknownFailure, AnExitCodeOfASignalIsRead) {
  const std::pair<const char*, const char*> lines[] = {
      {"Rank 0 scheduler died (exit code: -9)", "Killed: "},
      {"worker exited with code 137", "Killed: "},
      {"Killed", "Killed: "},
      {"run.sh: line 7:  4711 Killed                  python train.py", "Killed: "},
      {"subprocess returned non-zero exit status 135.", "Crashed: "},
      {"[launch] main process exited with return code = -11", "Crashed: "},
      {"srun: error: train-1: tasks 0-7: Exited with exit code 1", "GaveUp: Slurm tells that tasks ended"},
      {"srun: error: train-1: task 3: Exited with exit code 139", "Crashed: "},
      {"srun: error: train-1: task 1: Terminated", "Killed: Slurm tells that tasks were asked to end"},
      {"srun: Job step aborted: Waiting up to 32 seconds for job step to finish.", "GaveUp: Slurm ends"},
      {"Terminated", "Killed: "},
      {"RuntimeError: engine timed out after 300 s", "TimedOut: "}};
  for (const auto& [line, begin] : lines) EXPECT_THAT(verify_lines(line).sentence, StartsWith(begin)) << line;
  for (const char* line :
       {"exited with code 0", "exit status 1", "exit code 256", "exit code: ", "return code 9"})
    EXPECT_TRUE(verify_lines(line).failures.empty()) << line;
}

TEST(Killed, BySigtermIsTheCauseUnlessSomethingFailedBefore) {
  const std::string asked = "[WARNING] Received Signals.SIGTERM death signal, shutting down workers\n",
                    closed = "n:1:1 [0] x.cc:1 NCCL WARN Connection closed by remote peer b<1>\n",
                    lost =
                        "n:1:1 [0] x.cc:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<41> with "
                        "status=12 opcode=0 len=0 vendor err 129 (Send)\n";
  EXPECT_THAT(verify_lines(asked + closed).sentence, StartsWith("Killed: torchrun got SIGTERM"));
  EXPECT_THAT(verify_lines(asked + lost).sentence, StartsWith("Killed: "));
  EXPECT_THAT(verify_lines(closed + asked).sentence, StartsWith("PeerClosed: "));
  EXPECT_THAT(verify_lines(lost + asked).sentence, StartsWith("NoAnswer: "));
  const std::string preempted = "Terminated: SIGTERM received, shutting down (preempted)\n";
  for (const std::string& log : {preempted + lost, lost + preempted})
    EXPECT_THAT(verify_lines(log).sentence, StartsWith("Killed: The scheduler ended")) << log;
  EXPECT_TRUE(verify_lines("SIGTERM handler saves when preempted\n").failures.empty());
}

TEST(UnknownFailure, ThatARunOutlivedEndedNothing) {
  const std::string error = "FileNotFoundError: [Errno 2] No such file or directory: 'shard-4.tar'\n",
                    destroyed = "n:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 16 - Destroy COMPLETE\n",
                    finished = "Training finished, saved checkpoint.\n";
  EXPECT_TRUE(is_good(verify_lines(error + destroyed + finished).findings));
  for (const std::string& log :
       {error + destroyed, error + finished, finished + error + destroyed, destroyed + finished + error})
    EXPECT_FALSE(is_good(verify_lines(log).findings)) << log;
  const std::string event =
      "n:1:9 [0] x.cc:1 NCCL WARN NET/IB : mlx5_3:1 Got non-fatal async event: port error(10)\n";
  EXPECT_TRUE(is_good(verify_lines(event + finished).findings));
  EXPECT_FALSE(is_good(verify_lines(finished + event).findings));
}

TEST(Barrier, MoreWorkersThanTheJobHasAreOfAnEarlierRun) {
  const std::string begin =
      "INFO Waiting in store based barrier to initialize process group for rank: 0, key: k (world_size=6, "
      "worker_count=";
  EXPECT_THAT(verify_lines(begin + "287, timeout=0:30:00)").sentence,
              HasSubstr("left over from an earlier run"));
  EXPECT_TRUE(verify_lines(begin + "5, timeout=0:30:00)").failures.empty());
}

TEST(UnknownFailure, OthersEndsAndOrdinaryWordsAreNone) {
  for (const char* line :
       {"KeyboardInterrupt: ", "INFO: Error: 0 of 5", "ModuleNotFoundError: No module named 'flash_attn'",
        "handled ValueErrors: 5", "see https://x/Error: y",
        "ConnectionResetError: [Errno 104] Connection reset by peer"})
    EXPECT_TRUE(verify_lines(line).failures.empty()) << line;
}

}  // namespace
}  // namespace nccl_env::unknown_failure_test
