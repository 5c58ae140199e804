// SPDX-License-Identifier: Apache-2.0
// Lines of runs that go well, and failures that a run survived.
#include <gmock/gmock.h>

#include <string>

#include "core/nccl_log/verify_lines.h"

namespace nccl_env::ordinary_lines_test {
namespace {

using ::testing::StartsWith;
using tests::verify_lines;

const std::string kInfo = "gpu-1:984:990 [0] NCCL INFO ";

// A run on one node, from the version to the end of its communicator.
std::string run(const std::string& between) {
  return "NCCL version 2.21.5+cuda12.4\n" + kInfo + "NET/IB : No device found.\n" + kInfo +
         "Using network Socket\n" + kInfo + "comm 0x5 rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0\n" +
         between + kInfo + "comm 0x5 rank 0 nranks 2 cudaDev 0 busId 1 - Destroy COMPLETE\n";
}

TEST(OrdinaryLines, OfAGoodRunTellNoFailure) {
  for (const std::string line :
       {"WARNING wandb: CommError: could not reach the server, running offline",
        "INFO: skipping file a.txt: UnicodeDecodeError: bad byte", "WARNING: this needs NCCL version 2.19.3",
        "Using torch 2.3.0 (NCCL version 2.18.6)", "http_server.cc:91 WARN slow request",
        "setup.cfg:91 WARN slow request", "previous exit code: 137 (restarted)",
        "eval: expected \"Segmentation fault\" in the sample answer",
        "INFO: enabling faulthandler: Segmentation fault will be printed",
        R"({"text": "Why do I get: no kernel image is available?"})",
        "Prompt: \"My log says NCCL WARN Call to connect failed\"",
        R"({"prompt": "OOMKilled, std::bad_alloc, CUDA out of memory"})",
        "[ 9.1] NVRM: Xid (PCI:0000:1a:00): 63, pid=0, Row Remapper: New row marked for remapping",
        "[ 9.1] NVRM: Xid (PCI:0000:1a:00): 154, GPU recovery action changed from 0x1 to 0x0 (None)",
        "[W CUDAGuardImpl.h:115] Warning: CUDA warning: driver shutting down (function destroyEvent)",
        "[ 9.1] mlx5_core 0000:3b:00.0 eth1: Link down"}) {
    const LogVerification verification = verify_lines(run(line + "\n"));
    EXPECT_TRUE(is_good(verification.findings)) << line << "\n" << verification.sentence;
  }
}

// Words of good lines, in lines that tell a failure.
TEST(OrdinaryLines, HideNoFailure) {
  for (const std::string line :
       {"ERROR worker: RuntimeError: boom", "NCCL_DEBUG=INFO python train.py: RuntimeError: boom",
        "2026-11-20 08:00:00 ERROR [WARNING] RuntimeError: boom", "WARNING follows; FATAL: no room",
        R"({"level":"error","content":"torch.OutOfMemoryError: CUDA out of memory"})",
        R"({"log":"Segmentation fault (core dumped)\n","stream":"stderr"})",
        R"(ERROR while serving {"prompt": "hi"}: torch.OutOfMemoryError: CUDA out of memory)",
        "srun: task 3: \"Segmentation fault (core dumped)\"",
        "[ 9.1] NVRM: Xid (PCI:0000:1a:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (Reset)",
        "RuntimeError: CUDAGuardImpl: CUDA error: an illegal memory access was encountered",
        "# Out of bounds values : 50 FAILED", "Aborted (core dumped)",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "}) {
    const LogVerification verification = verify_lines(run(line + "\n"));
    EXPECT_FALSE(is_good(verification.findings)) << line << "\n" << verification.sentence;
  }
}

TEST(OrdinaryLines, OfLibibverbsAreJudgedByTheDevices) {
  const std::string driver =
      "libibverbs: Warning: couldn't load driver 'efa': /lib/libibverbs.so.1: version `IBVERBS_PRIVATE_34' "
      "not "
      "found (required by /lib/libefa-rdmav34.so)\n";
  EXPECT_THAT(verify_lines(driver).sentence, StartsWith("LibraryMismatch: "));
  EXPECT_TRUE(is_good(
      verify_lines(driver + kInfo + "NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n").findings))
      << "another driver's devices serve";
}

TEST(OrdinaryLines, ALinkThatWentDownIsTheCauseOfWhatFailedAfterIt) {
  const std::string down = "[ 9.1] mlx5_core 0000:3b:00.0 eth1: Link down\n";
  const std::string broken =
      "gpu-1:984:990 [0] x.cc:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<47> with status=12 "
      "opcode=0 "
      "len=0 vendor err 129\n";
  EXPECT_THAT(verify_lines(run(down + broken)).sentence, StartsWith("LinkDown: "));
}

TEST(NcclTests, RowsAreTheirsAlone) {
  const std::string head = "#       size         count      type   redop    root     time   algbw\n";
  const std::string row = "           8             2     float     sum      -1    12.30    0.00\n";
  const auto rows = [](const std::string& text) { return tests::read_lines(text).table_rows; };
  EXPECT_EQ(rows(head + row + row), 2u);
  EXPECT_EQ(rows(head + "2026 11 Nov backup started at noon\n"), 0u);
  EXPECT_EQ(rows(head + "8 2 float\n"), 0u);
  EXPECT_EQ(rows(row), 0u);
}

TEST(NcclTests, ARunBehindOneThatWasCutIsNotBesideIt) {
  const std::string head = "# nThread 1 nGpus 1 minBytes 8\n", end = "# Avg bus bandwidth    : 1.0\n";
  const auto apart = [](const std::string& text) { return tests::read_lines(text).tests_apart; };
  EXPECT_EQ(apart(head + end + head + end), 0u);
  EXPECT_EQ(apart(head + head), 2u);
  const std::string table = "#       size         count      type   redop    root     time   algbw\n";
  const std::string row = "           8             2     float     sum      -1    12.30    0.00\n";
  EXPECT_EQ(apart(head + table + row + head + table + row + end), 0u);
  EXPECT_EQ(apart(head + head + table + row + end), 2u) << "one of them crashed";
  EXPECT_EQ(apart(head + end + end), 3u);
}

TEST(NcclVersion, IsWhatALibraryTells) {
  const auto versions = [](const std::string& line) {
    std::string all;
    for (const auto& [version, fact] : tests::read_lines(line + "\n").versions) all += version + ";";
    return all;
  };
  EXPECT_EQ(versions("NCCL version 2.21.5+cuda12.4"), "2.21.5+cuda12.4;");
  EXPECT_EQ(versions("[1,0]<stdout>:NCCL version 2.21.5+cuda12.4"), "2.21.5+cuda12.4;");
  EXPECT_EQ(versions("(Worker pid=7) NCCL version 2.21.5"), "2.21.5;");
  EXPECT_EQ(versions("2026-11-20T08:00:00.1Z NCCL version 2.21.5"), "2.21.5;");
  const std::string ray = "\x1b[36m(RayWorkerWrapper pid=12)\x1b[0m NCCL version 2.21.5+cuda12.4";
  EXPECT_EQ(versions(ray), "2.21.5+cuda12.4;");
  EXPECT_EQ(versions(ray + " [repeated 7x across cluster]"), "2.21.5+cuda12.4;");
  EXPECT_EQ(versions("NCCL version 2.28.3 compiled with CUDA 12.9"), "2.28.3;");
  EXPECT_EQ(versions("RuntimeError: NCCL error in: a.cpp:1, unhandled system error, NCCL version 2.18.6."),
            "2.18.6;");
  EXPECT_EQ(versions("RCCL version : 2.22.3-HEAD:6bfc0dd"), "RCCL 2.22.3-HEAD:6bfc0dd;");
  for (const std::string line : {"this needs NCCL version 2.19.3", "NCCL version 2.19.3 or later",
                                 "(NCCL version 2.18.6)", "NCCL version 12.4", "NCCL version"})
    EXPECT_EQ(versions(line), "") << line;
}

TEST(Prefix, OfALauncherIsNoPartOfAHostsName) {
  const std::string plain = run("");
  for (const std::string mark : {"[1,0]<stdout>:", "[default0]:", "[1,0]<stdout>: ", "0: ", "worker|"}) {
    std::string text = plain;
    for (std::size_t at = text.find("gpu-1:"); at != text.npos;
         at = text.find("gpu-1:", at + mark.size() + 6))
      text.insert(at, mark);
    EXPECT_EQ(tests::read_lines(text).process_names, tests::read_lines(plain).process_names) << mark;
    EXPECT_EQ(verify_lines(text).sentence, verify_lines(plain).sentence) << mark;
  }
}

}  // namespace
}  // namespace nccl_env::ordinary_lines_test
