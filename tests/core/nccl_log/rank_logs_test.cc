// SPDX-License-Identifier: Apache-2.0
// The ranks of a job side by side: who is told first, and what sets a rank apart.
#include "nccl_env/core/nccl_log/rank_logs.h"
#include "nccl_env/core/nccl_log/log_verify.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "support/golden.h"

namespace nccl_env::rank_logs_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

RankLog rank_of(const std::string& name, const std::string& text) {
  NcclLogReader reader;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) reader.read_line(line);
  return {name, {}, reader.log(), verify_log(reader.log(), {})};
}

std::string line(const std::string& name, const std::string& text) {
  return name + ":1:1 [0] NCCL INFO " + text + "\n";
}

std::string healthy(const std::string& name, const std::string& devices = "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE",
                    int number = 0) {
  const std::string address =
      "eth0:10.0.0." + (number > 0 ? std::to_string(number) : name.substr(name.size() - 1)) + "<0>";
  return line(name, "Bootstrap : Using " + address) + line(name, "NCCL version 2.27.3+cuda12.9") +
         line(name, "NET/IB : Using " + devices + " [RO]; OOB " + address) + line(name, "Using network IB");
}

std::string watchdog(int rank, int number, const std::string& call) {
  return "[rank" + std::to_string(rank) +
         "]:[E] ProcessGroupNCCL.cpp:616] [PG ID 0 PG GUID 0(default_pg) Rank " + std::to_string(rank) +
         "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=" + std::to_string(number) +
         ", OpType=" + call +
         ", NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600026 milliseconds before timing out.\n";
}

std::vector<RankLog> three() {
  return {rank_of("r0", healthy("r0")), rank_of("r1", healthy("r1")), rank_of("r2", healthy("r2"))};
}

std::string first_of(const std::vector<RankLog>& ranks) {
  return ranks.at(verify_ranks(ranks).order.at(0)).name;
}

TEST(RankLogs, ThatAgreeAreGood) {
  std::vector<RankLog> ranks;
  for (const std::string name : {"r0", "r1", "r2"})
    ranks.push_back(
        rank_of(name, healthy(name) + line(name, "comm 0x5 rank " + name.substr(1) +
                                                     " nranks 3 cudaDev 0 busId 1 - Init COMPLETE")));
  const RanksVerification verification = verify_ranks(ranks);
  EXPECT_THAT(verification.findings, IsEmpty());
  tests::expect_golden(render_text(verification, ranks));
}

TEST(RankLogs, TheCauseStandsBeforeItsConsequencesInWhateverOrder) {
  const std::string shm =
      "r2:1:1 [0] x.cc:1 NCCL WARN Error: failed to extend /dev/shm/nccl-x to 9 bytes, error: No space left "
      "on "
      "device (28)\n";
  const std::string closed = ":1:1 [0] x.cc:1 NCCL WARN Connection closed by remote peer r2<1>\n";
  std::vector<RankLog> ranks{rank_of("r0", healthy("r0") + "r0" + closed),
                             rank_of("r1", healthy("r1") + "r1" + closed),
                             rank_of("r2", healthy("r2") + shm)};
  const RanksVerification verification = verify_ranks(ranks);
  EXPECT_FALSE(is_good(verification.findings));
  EXPECT_EQ(first_of(ranks), "r2");
  EXPECT_TRUE(verification.sentence.starts_with("r2: SharedMemory: ")) << verification.sentence;
  tests::expect_golden(render_text(verification, ranks));
  std::swap(ranks[0], ranks[2]);
  EXPECT_EQ(first_of(ranks), "r2");
}

TEST(RankLogs, OfTwoCausesTheEarlierIsFirst) {
  const auto lost = [](const std::string& name, const std::string& time) {
    return rank_of(name, healthy(name) + "[2026-03-01 " + time + "] " + name +
                             ":1:1 [0] x.cc:1 NCCL WARN NET/IB : mlx5_0:1 Got async event : port error\n");
  };
  EXPECT_EQ(first_of({lost("r0", "10:00:09"), lost("r1", "10:00:01"), rank_of("r2", healthy("r2"))}), "r1");
}

TEST(RankLogs, APortsEventIsTheCauseOfErrorsThatNameItsRankAsPeer) {
  const auto at = [](const std::string& name, int number) {
    return healthy(name, "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE", number);
  };
  const auto warn = [](const std::string& name, const std::string& time, const std::string& text) {
    return "[2026-03-01 " + time + "] " + name + ":1:1 [0] x.cc:1 NCCL WARN NET/IB : " + text + "\n";
  };
  const auto down = [&](const std::string& name, const std::string& time) {
    return warn(name, time, "mlx5_1:1 Got async event : port error");
  };
  const std::string error =
      warn("r0", "10:00:17",
           "Got completion from peer 10.0.0.3<4711> with status=12 opcode=0 len=0 vendor "
           "err 129 (Send) hca mlx5_0");
  // r1's event is the earlier one, and no error names r1.
  std::vector<RankLog> ranks{rank_of("r0", at("r0", 1) + error),
                             rank_of("r1", at("r1", 2) + down("r1", "09:59:00")),
                             rank_of("r2", at("r2", 3) + down("r2", "10:00:00"))};
  EXPECT_EQ(first_of(ranks), "r2");
  tests::expect_golden(render_text(verify_ranks(ranks), ranks));
  ranks[2] = rank_of("r2", at("r2", 3) + down("r2", "10:00:20"));
  EXPECT_EQ(first_of(ranks), "r1") << "r2's came after the error";
  ranks[0] = rank_of("r0", at("r0", 1) + warn("r0", "00:00:10", error.substr(error.find("Got"))));
  ranks[2] = rank_of("r2", at("r2", 3) + down("r2", "23:59:58"));
  EXPECT_EQ(first_of(ranks), "r2") << "it came before midnight";
  ranks[1] = rank_of("r1", at("r1", 2));
  ranks[2] = rank_of("r2", at("r2", 3));
  EXPECT_THAT(verify_ranks(ranks).sentence, HasSubstr("The peer is r2."));
  ranks[1] = rank_of("r1", at("r1", 3));
  EXPECT_THAT(verify_ranks(ranks).sentence, Not(HasSubstr("The peer is"))) << "one of two, of one address";
}

TEST(RankLogs, TheEndOfARankIsTheCauseOfErrorsThatNameItAsPeer) {
  const auto rank = [](const std::string& name, int number, const std::string& more) {
    return rank_of(name, healthy(name, "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE", number) + more);
  };
  const std::string error =
      "r0:1:1 [0] x.cc:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.3<4711> with status=12 opcode=0 "
      "len=0 vendor err 129 (Send) hca mlx5_0\n";
  const auto killed = [](const std::string& time) {
    return "E1127 " + time +
           ".1 1 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 0 "
           "(pid: 400) of binary: python\n";
  };
  const auto first = [&](const std::string& of_first, const std::string& of_last) {
    return verify_ranks({rank("r0", 1, of_first), rank("r1", 2, ""), rank("r2", 3, of_last)}).sentence;
  };
  EXPECT_TRUE(first(error, killed("14:02:11")).starts_with("r2: Killed: "));
  EXPECT_THAT(first(error, killed("14:02:11")),
              HasSubstr(" It led to the errors of r0, whose peer this rank is."));
  EXPECT_TRUE(first(error, "Segmentation fault (core dumped)\n").starts_with("r2: Crashed: "));
  EXPECT_TRUE(first(error, "[rank2]: ValueError: loss is NaN\n").starts_with("r2: UnknownWarning: "));
  EXPECT_THAT(first(error, "RuntimeError: CUDA error: out of memory\n"), HasSubstr("It led to the errors"));
  EXPECT_TRUE(first("[2026-11-27 14:01:00] " + error, killed("14:02:11")).starts_with("r0: NoAnswer: "))
      << "it came later";
  EXPECT_TRUE(first("[2026-11-27 14:02:35] " + error, killed("14:02:11")).starts_with("r2: Killed: "));
  EXPECT_TRUE(first(error + killed("14:02:10"), killed("14:02:11")).starts_with("r0: NoAnswer: "))
      << "both were killed";
  const std::string closed = "r2:1:1 [0] x.cc:1 NCCL WARN Connection closed by remote peer r0<1>\n";
  EXPECT_TRUE(first(error, closed + killed("14:02:11")).starts_with("r0: NoAnswer: ")) << "it lost r0 before";
}

TEST(RankLogs, AVersionWithoutItsBuildIsTheSame) {
  std::vector<RankLog> ranks = three();
  ranks[1] =
      rank_of("r1", "RuntimeError: NCCL error in: a.cpp:1, unhandled system error, NCCL version 2.27.3\n");
  for (const Finding& finding : verify_ranks(ranks).findings)
    EXPECT_NE(finding.code, Code::NcclVersionsDiffer) << finding.sentence;
  ranks[1] = rank_of("r1", "NCCL version 2.26.2+cuda12.8\n");
  EXPECT_THAT(verify_ranks(ranks).sentence, HasSubstr("NcclVersionsDiffer"));
}

TEST(RankLogs, WithDifferencesDoNotAgree) {
  const auto index = [](const std::string& name, const std::string& number) {
    return rank_of(name,
                   healthy(name) + line(name, "NET/IB: Dev 0 Port 1 qpn 47 mtu 5 GID " + number + " (0/1)"));
  };
  const RanksVerification verification = verify_ranks({index("r0", "3"), index("r1", "1"), index("r2", "3")});
  EXPECT_TRUE(is_good(verification.findings));
  EXPECT_EQ(verification.sentence, "The logs of 3 ranks tell no failure.");
}

TEST(RankLogs, WithValuesThatHaveToBeEqualDoNotAgree) {
  std::vector<RankLog> ranks;
  for (const std::string name : {"r0", "r1", "r2"}) {
    const std::string algorithm = name == "r1" ? "Tree" : "Ring", timeout = name == "r0" ? "20" : "22";
    ranks.push_back(rank_of(name, healthy(name) + line(name, "NCCL_ALGO set by environment to " + algorithm) +
                                      line(name, "NCCL_IB_TIMEOUT set by environment to " + timeout + ".")));
  }
  const RanksVerification verification = verify_ranks(ranks);
  EXPECT_THAT(verification.sentence,
              HasSubstr("r1: NCCL_ALGO=Tree instead of Ring, which has to be equal on all ranks."));
  EXPECT_FALSE(is_good(verification.findings));
  EXPECT_EQ(count(verification.findings, Severity::Error), 1u) << "a time-out may differ";
  ranks.erase(ranks.begin() + 1);
  EXPECT_EQ(count(verify_ranks(ranks).findings, Severity::Error), 0u);
  ranks = {rank_of("r0", healthy("r0") + line("r0", "NCCL_PROTO set by environment to LL")),
           rank_of("r1", healthy("r1"))};
  EXPECT_TRUE(is_good(verify_ranks(ranks).findings)) << "the other log may hold less";
  EXPECT_THAT(verify_ranks(ranks).sentence, Not(HasSubstr("agree")));
}

TEST(RankLogs, ARankWithFewerHcasIsTold) {
  std::vector<RankLog> ranks = three();
  ranks[1] = rank_of("r1", healthy("r1", "[0]mlx5_0:1/RoCE"));
  const RanksVerification verification = verify_ranks(ranks);
  ASSERT_EQ(verification.findings.size(), 1u);
  EXPECT_EQ(verification.findings[0].code, Code::MissingRail);
  EXPECT_EQ(verification.findings[0].subject.parts, std::vector<std::string>{"r1"});
  EXPECT_EQ(first_of(ranks), "r1");
  tests::expect_golden(verification.sentence);
  VerifiedValue own;
  own.name = "NCCL_IB_HCA";
  own.state = State::Users;
  ranks[1].verification.values.push_back(own);
  EXPECT_THAT(verify_ranks(ranks).sentence, HasSubstr("The list is the pod's own")) << "no node is to blame";
  ranks[1] = rank_of("r1", healthy("r1", "[0]mlx5_0:1/RoCE [1]mlx5_9:1/RoCE"));
  EXPECT_EQ(verify_ranks(ranks).findings.at(0).code, Code::OddNode);
  EXPECT_TRUE(is_good(verify_ranks(ranks).findings)) << "as many of another machine's names";
  const std::string most = "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [2]mlx5_";
  ranks = {rank_of("r0", healthy("r0", most + "2:1/RoCE")), rank_of("r1", healthy("r1", most + "9:1/RoCE")),
           rank_of("r2", healthy("r2", most + "2:1/RoCE"))};
  EXPECT_FALSE(is_good(verify_ranks(ranks).findings)) << "one of a machine's names is another";
}

TEST(RankLogs, AnotherVersionIsToldAndAnotherIndexIsOnlyShown) {
  std::vector<RankLog> ranks = three();
  ranks[2] = rank_of("r2", healthy("r2") + line("r2", "NET/IB: Dev 0 Port 1 qpn 1 mtu 5 GID 5 (0/1)"));
  ranks[1] = rank_of("r1", healthy("r1") + line("r1", "NET/IB: Dev 0 Port 1 qpn 1 mtu 5 GID 3 (0/1)"));
  EXPECT_TRUE(is_good(verify_ranks(ranks).findings));
  EXPECT_EQ(verify_ranks(ranks).findings.at(0).code, Code::RankIndexDiffers);
  std::string old = healthy("r0");
  old.replace(old.find("2.27.3"), 6, "2.21.5");
  ranks[0] = rank_of("r0", old);
  EXPECT_EQ(verify_ranks(ranks).findings.at(0).code, Code::NcclVersionsDiffer);
  EXPECT_EQ(first_of(ranks), "r0");
}

TEST(RankLogs, OfAnotherNetworkThanTheFabricAreTold) {
  std::vector<RankLog> ranks{
      rank_of("r0", healthy("r0")),
      rank_of("r1", line("r1", "NET/IB : No device found.") + line("r1", "Using network Socket"))};
  const RanksVerification verification = verify_ranks(ranks);
  EXPECT_FALSE(is_good(verification.findings));
  EXPECT_EQ(first_of(ranks), "r1");
  EXPECT_THAT(verification.sentence,
              HasSubstr("network Socket instead of IB: NET/IB found no device there."));
}

TEST(RankLogs, WhoseBootstrapsAreOfUnlikeNetworksDoNotAgree) {
  const auto rank = [](const std::string& name, const std::string& interface, const std::string& state) {
    return rank_of(name, line(name, "Bootstrap : Using " + interface + "<0>") +
                             line(name, "comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1 - Init " + state));
  };
  const auto told = [&](const std::string& left, const std::string& right,
                        const std::string& state = "START") {
    return verify_ranks({rank("r0", left, state), rank("r1", right, state)}).sentence;
  };
  EXPECT_THAT(told("eth0:10.0.0.1", "ib0:10.9.0.2"), HasSubstr("UnreachableInterface, "));
  EXPECT_THAT(told("eth0:10.0.0.1", "ib0:10.9.0.2", "COMPLETE"), HasSubstr("tell no failure")) << "they met";
  const auto not_told = Not(HasSubstr("Unreachable"));
  EXPECT_THAT(told("eno1:10.0.0.1", "ens3:10.0.7.2"), not_told) << "one network";
  EXPECT_THAT(told("eth0:10.244.1.3", "eth0:10.245.2.3"), not_told) << "pods of two nodes";
  const std::vector<RankLog> bridged{rank("r0", "docker0:10.0.0.3", "COMPLETE"),
                                     rank("r1", "eth0:10.0.0.1", "COMPLETE")};
  EXPECT_THAT(render_text(verify_ranks(bridged), bridged), HasSubstr("docker0 is inside its host"));
  EXPECT_THAT(told("docker0:10.0.0.3", "eth0:10.0.0.1", "COMPLETE"), Not(HasSubstr("agree")));
  EXPECT_THAT(told("docker0:10.0.0.3", "docker0:10.0.0.1"), Not(HasSubstr("is inside")));
  EXPECT_THAT(told("eth0:10.244.1.3", "eth0:10.244.1.3"), HasSubstr("r0, r1 have one address, 10.244.1.3"));
}

TEST(RankLogs, FewerThanTheJobHasAreCounted) {
  const auto rank = [](int number, const std::string& more = {}) {
    const std::string name = "r" + std::to_string(number);
    RankLog of = rank_of(name, healthy(name) + more +
                                   line(name, "comm 0x1 rank " + std::to_string(number) +
                                                  " nranks 3 cudaDev 0 busId 1 - Init COMPLETE"));
    of.by_hand = true;
    return of;
  };
  EXPECT_THAT(verify_ranks({rank(0), rank(1)}).sentence, HasSubstr("The logs of 2 of 3 ranks agree"));
  EXPECT_THAT(verify_ranks({rank(0), rank(1), rank(2)}).sentence, HasSubstr("The logs of 3 ranks agree"));
  const std::vector<RankLog> named{rank(0, line("r0", "NCCL_IB_GID_INDEX set by environment to 7.")),
                                   rank(1)};
  EXPECT_THAT(render_text(verify_ranks(named), named), HasSubstr(" 7    IB "));
}

TEST(RankLogs, AreNotToldToDoWhatIsDone) {
  const std::string start = "comm 0x1 rank 0 nranks 3 cudaDev 0 busId 1 - Init START";
  const std::string closed = ":1:1 [0] x.cc:1 NCCL WARN Connection closed by remote peer r9<1>\n";
  for (const std::string& more : {"r0:1:1 [0] NCCL INFO " + start + "\n", "r0" + closed}) {
    std::vector<RankLog> ranks{rank_of("r0", healthy("r0") + more), rank_of("r1", healthy("r1"))};
    const RanksVerification verification = verify_ranks(ranks);
    EXPECT_FALSE(is_good(verification.findings));
    EXPECT_THAT(verification.sentence, Not(HasSubstr("verify job/NAME")));
    EXPECT_THAT(to_json(verification, ranks)["findings"].dump(), Not(HasSubstr("verify job/NAME")));
  }
}

TEST(RankLogs, AFileWithoutALineIsNoRankThatAgrees) {
  std::vector<RankLog> ranks{rank_of("a.log", healthy("r0")), rank_of("b.log", "")};
  EXPECT_THAT(verify_ranks(ranks).findings, IsEmpty()) << "a launcher's, say";
  ranks[1].by_hand = true;
  const RanksVerification verification = verify_ranks(ranks);
  EXPECT_FALSE(is_good(verification.findings));
  EXPECT_THAT(verification.sentence, HasSubstr("b.log: no line of NCCL's"));
}

TEST(RankLogs, ARankThatNeverBeganIsToldWhereOthersWait) {
  const std::string start = "comm 0x1 rank 0 nranks 3 cudaDev 0 busId 1 - Init START";
  std::vector<RankLog> ranks{rank_of("r0", healthy("r0") + line("r0", start)),
                             rank_of("r1", healthy("r1") + line("r1", start)), rank_of("r2", "loading\n")};
  EXPECT_EQ(first_of(ranks), "r2");
  const RanksVerification waiting = verify_ranks(ranks);
  EXPECT_THAT(render_text(waiting, ranks),
              HasSubstr("r2: no line of NCCL's, though r0, r1 wait for all ranks"));
  EXPECT_EQ(waiting.findings.size(), 1u) << "that the others wait is the same";
  ranks[2] = rank_of("launcher", "loading\n");
  EXPECT_THAT(verify_ranks(ranks).sentence, Not(HasSubstr("launcher")));
  ranks[0] = rank_of("r0", healthy("r0"));
  ranks[1] = rank_of("r1", healthy("r1"));
  EXPECT_TRUE(is_good(verify_ranks(ranks).findings));
}

TEST(RankLogs, ARankWithoutALineIsToldBesideOthersLikeIt) {
  std::vector<RankLog> ranks{rank_of("worker-0", healthy("r0")), rank_of("worker-1", ""),
                             rank_of("launcher", "")};
  const RanksVerification verification = verify_ranks(ranks);
  ASSERT_EQ(verification.findings.size(), 1u);
  EXPECT_EQ(verification.findings[0].subject.parts, std::vector<std::string>{"worker-1"});
  EXPECT_EQ(first_of(ranks), "worker-1");
  EXPECT_FALSE(is_good(verification.findings));
  tests::expect_golden(verification.sentence);
  ranks = {rank_of("launcher", healthy("r0")), rank_of("worker-0", ""), rank_of("worker-1", "")};
  EXPECT_TRUE(is_good(verify_ranks(ranks).findings)) << "workers of MPI print by their launcher";
}

TEST(RankLogs, ARankWithoutTheOthersTimeOutIsWhatTheyWaitedFor) {
  const auto timed_out = [](const std::string& name, int rank) {
    return rank_of(
        name,
        healthy(name) + "[rank" + std::to_string(rank) + "]:[E] ProcessGroupNCCL.cpp:616] [Rank " +
            std::to_string(rank) +
            "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, "
            "NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600026 milliseconds before timing out.\n");
  };
  std::vector<RankLog> ranks{timed_out("w-0", 0), timed_out("w-1", 1), rank_of("w-2", healthy("w-2"))};
  EXPECT_EQ(first_of(ranks), "w-2");
  tests::expect_golden(verify_ranks(ranks).sentence);
  ranks[1] = rank_of("w-1", healthy("w-1"));
  EXPECT_EQ(first_of(ranks), "w-0") << "the others did not wait for most";
}

std::string member(const std::string& name, int rank, int ranks, const std::string& state,
                   const std::string& id = "0x5ea1") {
  return line(name, "ncclCommInitRank comm 0x1 rank " + std::to_string(rank) + " nranks " +
                        std::to_string(ranks) + " cudaDev 0 busId 1 commId " + id + " - Init " + state);
}

TEST(RankLogs, WithTheLaunchersFaultTellItFirst) {
  const auto rank = [](const std::string& name, int number, int ranks, const std::string& state) {
    return rank_of(name, healthy(name) + member(name, number, ranks, state));
  };
  std::vector<RankLog> ranks{rank("r0", 0, 3, "START"), rank("r1", 1, 3, "START"), rank("r2", 2, 2, "START")};
  tests::expect_golden(render_text(verify_ranks(ranks), ranks));
  EXPECT_EQ(verify_ranks(ranks).findings.size(), 1u) << "that the others wait follows from it";
  ranks[2] = rank("r2", 1, 3, "COMPLETE");
  const RanksVerification twins = verify_ranks(ranks);
  EXPECT_TRUE(
      twins.sentence.starts_with("LaunchFailed, r1, r2: in communicator 0x5ea1 rank 1 is each of r1, r2."))
      << twins.sentence;
  EXPECT_FALSE(is_good(twins.findings));
  ranks[2] = rank_of("r2", healthy("r2") + member("r2", 2, 2, "START") +
                               "r2:1:1 [0] x.cc:1 NCCL WARN Bootstrap Root : mismatch in rank count from "
                               "procs 3 : 2\n");
  EXPECT_THAT(verify_ranks(ranks).sentence, HasSubstr("CallsDiffer")) << "in NCCL's own words";
}

TEST(RankLogs, OfSeveralJobsAreComparedWithTheirOwn) {
  const auto rank = [](const std::string& name, int number, const std::string& id, std::string text) {
    return rank_of(name, text + member(name, number, 2, "COMPLETE", id));
  };
  std::string old0 = healthy("b0"), old1 = healthy("b1");
  old0.replace(old0.find("2.27.3"), 6, "2.21.5");
  old1.replace(old1.find("2.27.3"), 6, "2.21.5");
  const RanksVerification verification =
      verify_ranks({rank("a0", 0, "0xa", healthy("a0")), rank("a1", 1, "0xa", healthy("a1")),
                    rank("b0", 0, "0xb", old0), rank("b1", 1, "0xb", old1)});
  EXPECT_TRUE(is_good(verification.findings));
  EXPECT_EQ(
      verification.sentence,
      "The logs of 4 ranks tell no failure. The logs are of 2 jobs, which share no communicator: a0, a1; "
      "b0, b1.");
}

TEST(RankLogs, OfNcclTestsThatRunForThemselvesAreNoJob) {
  const auto rank = [](const std::string& name) {
    return rank_of(name, healthy(name) + member(name, 0, 1, "COMPLETE", "0x" + name.substr(1)) +
                             "#       size         count      type   redop    root     time\n"
                             "           8             2     float     sum      -1    12.33    0.00\n");
  };
  EXPECT_THAT(verify_ranks({rank("r0"), rank("r1")}).sentence,
              HasSubstr("LaunchFailed, r0, r1: each is a run"));
  EXPECT_TRUE(is_good(verify_ranks({rank("r0")}).findings));
}

TEST(RankLogs, HaveTheirDifferenceInTheirRow) {
  std::vector<RankLog> ranks = three();
  ranks[1] =
      rank_of("r1", healthy("r1", "[0]mlx5_0:1/RoCE") + line("r1", "NCCL_ALGO set by environment to Tree"));
  ranks[0] = rank_of("r0", healthy("r0") + line("r0", "NCCL_ALGO set by environment to Ring"));
  ranks[2] = rank_of("r2", healthy("r2") + line("r2", "NCCL_ALGO set by environment to Ring"));
  const RanksVerification verification = verify_ranks(ranks);
  EXPECT_EQ(verification.differences[1],
            "MissingRail: - mlx5_1:1; ValuesDiffer: NCCL_ALGO=Tree instead of Ring");
  EXPECT_EQ(verification.differences[0], "");
  EXPECT_EQ(to_json(verification, ranks)["ranks"][0]["difference"], verification.differences[1]);
}

TEST(RankLogs, WithoutGpuDirectBesideOthersWithItAreTold) {
  const auto rank = [](const std::string& name, const std::string& how) {
    return rank_of(name, healthy(name) + line(name, "Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0" + how));
  };
  EXPECT_THAT(verify_ranks({rank("r0", "/GDRDMA"), rank("r1", ""), rank("r2", "/GDRDMA")}).sentence,
              HasSubstr("NoGpuDirect, r1: channels are without GPU Direct RDMA"));
  EXPECT_TRUE(is_good(verify_ranks({rank("r0", ""), rank("r1", "")}).findings)) << "GPUs without it";
}

TEST(RankLogs, OnSocketsByAVariableNameIt) {
  const auto told = [](const std::string& more) {
    std::vector<RankLog> ranks;
    for (const std::string name : {"r0", "r1", "r2"})
      ranks.push_back(
          rank_of(name, healthy(name) + line(name, "NCCL_IB_HCA set to mlx5") +
                            line(name, "Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA")));
    ranks[1] = rank_of("r1", more + line("r1", "Using network Socket") +
                                 line("r1", "Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0"));
    const RanksVerification verification = verify_ranks(ranks);
    EXPECT_EQ(verification.findings.size(), 1u) << "one cause";
    return verification.sentence;
  };
  const std::string off = told(line("r1", "NCCL_IB_DISABLE set by environment to 1."));
  EXPECT_TRUE(
      off.starts_with("MixedNetworks, r1: network Socket instead of IB: NCCL_IB_DISABLE=\"1\" (line 1). Take "
                      "NCCL_IB_DISABLE out of what "
                      "starts that rank"))
      << off;
  EXPECT_THAT(told(line("r1", "NCCL_IB_HCA set to =mlx5_99") + line("r1", "NET/IB : No device found.")),
              HasSubstr("NET/IB found no device there, and reads NCCL_IB_HCA=\"=mlx5_99\" (line 1)."));
  EXPECT_THAT(told(line("r1", "NCCL_IB_HCA set to mlx5") + line("r1", "NET/IB : No device found.")),
              HasSubstr("Give all nodes the same image"))
      << "others have the same list";
  EXPECT_THAT(told(line("r1", "NET/IB : No device found.")), HasSubstr("Give all nodes the same image"));
}

TEST(RankLogs, OnInfiniBandBesideRoceCannotConnect) {
  std::vector<RankLog> ranks = three();
  ranks[1] = rank_of("r1", healthy("r1", "[0]mlx5_0:1/IB [1]mlx5_1:1/IB"));
  const RanksVerification verification = verify_ranks(ranks);
  ASSERT_EQ(verification.findings.size(), 1u);
  EXPECT_FALSE(is_good(verification.findings));
  EXPECT_TRUE(verification.sentence.starts_with(
      "MixedLinks, r1: HCAs of InfiniBand instead of RoCE (line 3). NCCL uses HCAs of both kinds"))
      << verification.sentence;
  for (RankLog& rank : ranks) rank = rank_of(rank.name, healthy(rank.name) + watchdog(0, 1, "ALLREDUCE"));
  ranks[2] = rank_of("r2", healthy("r2", "[0]mlx5_0:1/IB [1]mlx5_1:1/IB") + watchdog(2, 1, "ALLREDUCE"));
  EXPECT_TRUE(verify_ranks(ranks).sentence.starts_with("MixedLinks, r2: ")) << verify_ranks(ranks).sentence;
}

TEST(RankLogs, OnSocketsBesideAFabricHaveOneFinding) {
  std::vector<RankLog> ranks = three();
  ranks[1] =
      rank_of("r1", line("r1", "NET/IB : No device found.") + line("r1", "Using network Socket") +
                        line("r1", "comm 0x1 rank 1 nRanks 16 nNodes 2 localRanks 8 localRank 1 MNNVL 0"));
  ASSERT_EQ(ranks[1].verification.findings.front().code, Code::FellBack);
  const RanksVerification verification = verify_ranks(ranks);
  ASSERT_EQ(verification.findings.size(), 1u);
  EXPECT_TRUE(verification.sentence.starts_with("MixedNetworks, r1: network Socket instead of IB"));
}

TEST(RankLogs, ThatLostARankThatTellsNothingNameIt) {
  const auto at = [](const std::string& name, int number) {
    return healthy(name, "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE", number);
  };
  const auto closed = [&](const std::string& name, int number, const std::string& peer) {
    return rank_of(name, at(name, number) + name +
                             ":1:1 [0] x.cc:1 NCCL WARN Connection closed by remote peer " + peer + "<1>\n");
  };
  std::vector<RankLog> ranks{closed("w-0", 1, "10.0.0.2"), closed("w-1", 2, "w-2.train.svc"),
                             rank_of("w-2", at("w-2", 3) + "step 9\n")};
  EXPECT_EQ(first_of(ranks), "w-2");
  tests::expect_golden(render_text(verify_ranks(ranks), ranks));
  ranks = {closed("w-0", 1, "10.0.0.2"), rank_of("w-1", at("w-1", 2))};
  EXPECT_EQ(first_of(ranks), "w-1") << "of two, the one that did not tell of the other's end";
  ranks = {closed("w-0", 1, "10.0.0.9"), closed("w-1", 2, "10.0.0.9")};
  EXPECT_THAT(verify_ranks(ranks).sentence, HasSubstr("No log here is of its peer"));
  const std::string error =
      "w-0:1:1 [0] x.cc:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4711> with status=12 opcode=0 "
      "len=0 vendor err 129 (Send) hca mlx5_0\n";
  ranks = {rank_of("w-0", at("w-0", 1) + error), rank_of("w-1", at("w-1", 2))};
  EXPECT_EQ(first_of(ranks), "w-0") << "of two, either end may be at fault";
  ranks = {rank_of("w-0", at("w-0", 1) + error), closed("w-1", 2, "w-0"), rank_of("w-2", at("w-2", 3)),
           rank_of("w-3", at("w-3", 4))};
  EXPECT_TRUE(verify_ranks(ranks).sentence.starts_with("w-0: NoAnswer: ")) << "the pair, no silent rank";
}

TEST(RankLogs, ARankThatWasAskedToEndAndThatOthersLostStandsFirst) {
  const auto ranks = [](const std::string& of_lost) {
    return std::vector<RankLog>{
        rank_of("r0", healthy("r0") + watchdog(0, 9, "ALLREDUCE")),
        rank_of("r1", healthy("r1") + "r1:1:1 [0] x.cc:1 NCCL WARN Connection closed by remote peer r2<1>\n"),
        rank_of("r2", healthy("r2") + of_lost + "Terminated\n")};
  };
  const std::string sentence = verify_ranks(ranks("")).sentence;
  EXPECT_TRUE(sentence.starts_with("r2: Killed: ")) << sentence;
  EXPECT_THAT(sentence, HasSubstr("It led to the errors of r1, whose peer this rank is."));
  EXPECT_THAT(verify_ranks(ranks(watchdog(2, 9, "ALLREDUCE"))).sentence, HasSubstr(": TimedOut: "))
      << "the signal is the end of what had waited";
}

TEST(RankLogs, ThatDifferAreNamedWhereAFailureTellsNoCause) {
  const auto rank = [](const std::string& name, const std::string& index, const std::string& error) {
    return rank_of(name, healthy(name) +
                             line(name, "NET/IB: Dev 0 Port 1 qpn 47 mtu 5 GID " + index + " (0/1)") + name +
                             ":1:1 [0] x.cc:1 NCCL WARN " + error + "\n");
  };
  const std::string lost =
      "NET/IB : Got completion from peer 10.9.0.2<4711> with status=12 opcode=0 len=0 vendor err 129 (Send) "
      "hca "
      "mlx5_0";
  EXPECT_TRUE(
      verify_ranks({rank("r0", "3", lost), rank("r1", "3", lost), rank("r2", "1", lost)})
          .sentence.starts_with("r2: NoAnswer: r2 (GID index 1 instead of 3) differs from others. The peer"));
  const std::string full =
      "Error: failed to extend /dev/shm/nccl-x to 9 bytes, error: No space left on device (28)";
  EXPECT_THAT(verify_ranks({rank("r0", "3", full), rank("r1", "3", full), rank("r2", "1", full)}).sentence,
              Not(HasSubstr("differs")));
}

TEST(RankLogs, OfThoseThatTellNothingTheOneThatEndsFirstIsNamed) {
  const auto silent = [](const std::string& name, const std::string& time) {
    return rank_of(name, healthy(name) + "2026-03-01T" + time + "Z step 9\n");
  };
  const std::string closed = ":1:1 [0] x.cc:1 NCCL WARN Connection closed by remote peer r9<1>\n";
  std::vector<RankLog> ranks{silent("r0", "10:00:07"), silent("r1", "10:00:05")};
  for (const std::string name : {"r2", "r3", "r4"})
    ranks.push_back(rank_of(name, healthy(name) + name + closed));
  EXPECT_TRUE(verify_ranks(ranks).sentence.starts_with("r1 tells no failure"))
      << verify_ranks(ranks).sentence;
}

TEST(RankLogs, ARankThatWaitsInAnEarlierCallIsBehind) {
  const auto rank = [](int number, int call, const std::string& of = "ALLREDUCE") {
    const std::string name = "r" + std::to_string(number);
    return rank_of(name, healthy(name) + watchdog(number, call, of));
  };
  std::vector<RankLog> ranks{rank(0, 7), rank(1, 7), rank(2, 6)};
  EXPECT_EQ(first_of(ranks), "r2");
  EXPECT_THAT(verify_ranks(ranks).sentence, HasSubstr("rank 2 is behind."));
  ranks = {rank(0, 7), rank(1, 7, "ALLGATHER"), rank(2, 7)};
  EXPECT_EQ(first_of(ranks), "r1") << "the others make one call";
}

TEST(RankLogs, ADifferenceIsWhyTheFirstCollectiveHangs) {
  const auto ranks = [](int call, const std::string& of_second, const std::string& of_others) {
    std::vector<RankLog> all;
    for (int number = 0; number < 4; ++number) {
      const std::string name = "r" + std::to_string(number);
      all.push_back(rank_of(name, healthy(name) + line(name, number == 1 ? of_second : of_others) +
                                      watchdog(number, call, "ALLREDUCE")));
    }
    return all;
  };
  const std::string tree = "NCCL_ALGO set by environment to Tree",
                    ring = "NCCL_ALGO set by environment to Ring";
  const RanksVerification values = verify_ranks(ranks(1, tree, ring));
  tests::expect_golden(render_text(values, ranks(1, tree, ring)));
  EXPECT_EQ(values.findings.front().code, Code::ValuesDiffer);
  EXPECT_THAT(verify_ranks(ranks(9, tree, ring)).sentence, HasSubstr("TimedOut, ")) << "others went well";
  std::vector<RankLog> fewer = ranks(1, "x", "x");
  fewer[2] = rank_of("r2", healthy("r2", "[0]mlx5_0:1/RoCE") + watchdog(2, 1, "ALLREDUCE"));
  EXPECT_TRUE(verify_ranks(fewer).sentence.starts_with("MissingRail, r2: HCAs 1, most ranks 2: - mlx5_1:1."))
      << verify_ranks(fewer).sentence;
  std::vector<RankLog> older = ranks(1, "x", "x");
  std::string log = healthy("r3");
  log.replace(log.find("2.27.3"), 6, "2.21.5");
  older[3] = rank_of("r3", log + watchdog(3, 1, "ALLREDUCE"));
  EXPECT_TRUE(verify_ranks(older).sentence.starts_with("NcclVersionsDiffer, r3: "));
  std::vector<RankLog> late = older;
  late[0] = rank_of("r0", healthy("r0"));
  EXPECT_TRUE(verify_ranks(late).sentence.starts_with("r0 tells of no time-out"))
      << verify_ranks(late).sentence;
  older[0] = rank_of("r0", healthy("r0") + "Segmentation fault (core dumped)\n");
  EXPECT_TRUE(verify_ranks(older).sentence.starts_with("r0: Crashed: ")) << "that is told for itself";
}

TEST(RankLogs, ADifferenceIsWhySizesDiffer) {
  const std::string sizes =
      "r0:1:1 [0] x.cc:1 NCCL WARN NET/IB : req 0/1 tag 0 peer 10.0.0.2<58683> collective mismatch error, "
      "local size 496640 remote size 65536\n";
  const auto size = [](const std::string& name, const std::string& bytes) {
    return healthy(name) + line(name, "NCCL_BUFFSIZE set by environment to " + bytes + ".");
  };
  const std::vector<RankLog> ranks{rank_of("r0", size("r0", "4194304") + sizes),
                                   rank_of("r1", size("r1", "8388608")),
                                   rank_of("r2", size("r2", "4194304"))};
  EXPECT_TRUE(verify_ranks(ranks).sentence.starts_with(
      "ValuesDiffer, r1: NCCL_BUFFSIZE=8388608 instead of 4194304, which has to be equal on all ranks. Most "
      "likely it is why 1 rank met unequal sizes: SizesDiffer in line 6 of r0."))
      << verify_ranks(ranks).sentence;
  EXPECT_THAT(verify_ranks({ranks[0], rank_of("r1", size("r1", "4194304"))}).sentence,
              Not(HasSubstr("job/NAME")));
}

TEST(RankLogs, ATimeLimitStandsBehindWhatRanksWaitedIn) {
  const std::string limit =
      "slurmstepd: error: *** STEP 1.0 ON n CANCELLED AT 2026-02-03T10:11:12 DUE TO TIME LIMIT ***\n";
  std::vector<RankLog> ranks{rank_of("r0", healthy("r0") + limit), rank_of("r1", healthy("r1") + limit)};
  EXPECT_THAT(verify_ranks(ranks).sentence, HasSubstr("r0: TimedOut: Slurm ended the job at its time limit"));
  ranks[1] = rank_of("r1", healthy("r1") + watchdog(1, 7, "ALLREDUCE") + limit);
  EXPECT_TRUE(verify_ranks(ranks).sentence.starts_with("r1: TimedOut: A collective did not end in time"))
      << verify_ranks(ranks).sentence;
}

TEST(RankLogs, ATimeLimitOfSomeIsWhyOthersLostThem) {
  const std::string limit =
      "slurmstepd: error: *** STEP 1.0 ON n CANCELLED AT 2026-02-03T10:11:12 DUE TO TIME LIMIT ***\n";
  const std::string closed = ":1:1 [0] x.cc:1 NCCL WARN Connection closed by remote peer r9<1>\n";
  std::vector<RankLog> ranks{rank_of("r0", healthy("r0") + "r0" + closed),
                             rank_of("r1", healthy("r1") + limit)};
  EXPECT_TRUE(
      verify_ranks(ranks).sentence.starts_with("r1: TimedOut: Slurm ended the job at its time limit"));
  ranks[0] = rank_of("r0", healthy("r0") + "r0" + closed + limit);
  EXPECT_TRUE(verify_ranks(ranks).sentence.starts_with("r1 tells no failure"))
      << "r0 lost it before the limit";
}

TEST(RankLogs, ARankThatWaitedInVainStandsBeforeThoseThatLostIt) {
  const std::string closed = ":1:1 [0] x.cc:1 NCCL WARN Connection closed by remote peer r9<1>\n";
  EXPECT_EQ(
      first_of({rank_of("r0", healthy("r0") + "r0" + closed), rank_of("r1", healthy("r1") + "r1" + closed),
                rank_of("r2", healthy("r2") + watchdog(2, 7, "ALLREDUCE"))}),
      "r2");
}

TEST(RankLogs, ThatWaitForARankWithoutALogNameItsNumber) {
  const auto rank = [](const std::string& name, int number) {
    return rank_of(name, healthy(name) + member(name, number, 4, "START"));
  };
  EXPECT_THAT(verify_ranks({rank("r0", 0), rank("r1", 1), rank("r3", 3)}).sentence,
              HasSubstr("no log here is of rank 2 of 4"));
}

TEST(RankLogs, ThatWaitForARankBeforeItsStartNameIt) {
  const auto rank = [](const std::string& name, int number) {
    return rank_of(name, healthy(name) + member(name, number, 3, "START"));
  };
  std::vector<RankLog> ranks{rank("r0", 0), rank_of("r1", healthy("r1")), rank("r2", 2)};
  const RanksVerification waiting = verify_ranks(ranks);
  EXPECT_EQ(first_of(ranks), "r1");
  EXPECT_EQ(waiting.findings.size(), 1u);
  EXPECT_TRUE(waiting.sentence.starts_with(
      "InitNotEnded, r1 did not reach Init START, and r0, r2 wait for it. Look at how that log ends"))
      << waiting.sentence;
  ranks[1] = rank_of("r1", "NCCL version 2.27.3+cuda12.9\n");
  EXPECT_THAT(verify_ranks(ranks).sentence, Not(HasSubstr("r1 did not"))) << "it may print no more";
}

TEST(RankLogs, ARankThatWasStartedAnewIsToldAsOne) {
  const auto lost = [](const std::string& name, int number) {
    return rank_of(name, healthy(name) + member(name, number, 3, "START") +
                             member(name, number, 3, "COMPLETE") + name +
                             ":1:1 [0] x.cc:1 NCCL WARN Connection closed by remote peer r2<1>\n");
  };
  const std::string before = member("r2", 2, 3, "START") + member("r2", 2, 3, "COMPLETE");
  for (const std::string& earlier : {std::string(), before}) {
    const std::vector<RankLog> ranks{
        lost("r0", 0), lost("r1", 1),
        rank_of("r2", healthy("r2") + earlier + member("r2", 2, 3, "START", "0xbbbb"))};
    const std::string sentence = verify_ranks(ranks).sentence;
    EXPECT_TRUE(sentence.starts_with(
        "InitNotEnded, r2: rank 2 was started anew and waits in a new communicator, 0xbbbb, which no other "
        "log has; the others lost it before. Its log from before tells why it ended"))
        << sentence;
    EXPECT_THAT(sentence, Not(HasSubstr("2 jobs")));
    EXPECT_EQ(first_of(ranks), "r2");
  }
}

TEST(RankLogs, WithoutAConnectionNameThePeersLog) {
  const std::string error =
      "r1:1:1 [0] misc/socket.cc:541 NCCL WARN socketPollConnect: Connect to 10.0.0.3<51423> returned "
      "110(Connection timed out) errno 115(Operation now in progress)\n";
  EXPECT_THAT(verify_ranks({rank_of("r0", healthy("r0", "[0]mlx5_0:1/RoCE", 3)),
                            rank_of("r1", healthy("r1", "[0]mlx5_0:1/RoCE", 2) + error)})
                  .sentence,
              HasSubstr("The peer is r0."));
}

TEST(RankLogs, ThatCameThroughAFailureSayWhich) {
  const std::string flap = "r1:1:1 [0] x.cc:1 NCCL WARN NET/IB : mlx5_1:1 Got async event : port error\n" +
                           line("r1", "NET/IB : mlx5_1:1 Got async event : port active") +
                           "Training finished\n";
  const std::vector<RankLog> ranks{rank_of("r0", healthy("r0") + "Training finished\n"),
                                   rank_of("r1", healthy("r1") + flap)};
  const RanksVerification verification = verify_ranks(ranks);
  EXPECT_TRUE(is_good(verification.findings));
  EXPECT_EQ(verification.sentence,
            "The logs of 2 ranks tell no failure that ended them (LinkDown in line 5 of r1).");
  EXPECT_EQ(verification.findings.at(0).sentence,
            "r1: line 5: NET/IB : mlx5_1:1 Got async event : port error");
}

TEST(RankLogs, ThatEndBeforeTheInitialisationDidDoNotAgree) {
  EXPECT_EQ(verify_ranks(three()).sentence,
            "The logs of 3 ranks tell no failure, nor that the initialisation ended: the job waits before "
            "that, or the logs were cut.");
  std::vector<RankLog> ranks = three();
  ranks[0] =
      rank_of("r0", healthy("r0") + line("r0", "comm 0x5 rank 0 nranks 3 cudaDev 0 busId 1 - Init COMPLETE"));
  EXPECT_THAT(verify_ranks(ranks).sentence,
              HasSubstr("; the initialisation does not end in r1, r2, which may"));
}

TEST(RankLogs, OneLogGivenTwiceIsToldAsSuch) {
  const std::string text = healthy("r0") +
                           line("r0",
                                "ncclCommInitRank comm 0x5 rank 0 nranks 2 cudaDev 0 nvmlDev 0 "
                                "busId 10000 commId 0xa1 - Init START") +
                           line("r0",
                                "ncclCommInitRank comm 0x5 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 10000 "
                                "commId 0xa1 - Init COMPLETE");
  EXPECT_EQ(
      verify_ranks({rank_of("a", text), rank_of("b", text)}).sentence,
      "The logs of 1 of 2 ranks tell no failure. a, b are both of rank 0; no log here is of rank 1 of 2.");
}

TEST(RankLogs, OfBothEndsOfATransferTellTheirMtus) {
  const auto rank = [](const std::string& name, const std::string& mtu, const std::string& more) {
    return rank_of(
        name, healthy(name) + line(name, "NET/IB: Dev 0 Port 1 qpn 47 mtu " + mtu + " GID 3 (0/1)") + more);
  };
  const std::string error =
      "r1:1:1 [0] x.cc:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4711> with status=12 opcode=0 "
      "len=0 vendor err 129 (Send) hca mlx5_0\n";
  EXPECT_THAT(verify_ranks({rank("r1", "5", error), rank("r2", "3", "")}).sentence,
              HasSubstr(" The ports differ in MTU: 4096 in r1, 1024 in r2. Give both the same."));
  EXPECT_THAT(verify_ranks({rank("r1", "5", error), rank("r2", "5", "")}).sentence, Not(HasSubstr("MTU")));
}

TEST(RankLogs, OfOneCodeEachNameTheirLine) {
  const std::string lost = ":1:1 [0] x.cc:1 NCCL WARN Connection closed by remote peer r9<1>\n";
  const auto told = verify_ranks({rank_of("r0", healthy("r0") + "r0" + lost),
                                  rank_of("r1", healthy("r1") + "step 1\n" + "r1" + lost)})
                        .findings.at(0)
                        .sentence;
  EXPECT_THAT(told, HasSubstr("r0, r1: line 5: "));
  EXPECT_THAT(told, HasSubstr(" (r1: line 6)"));
}

TEST(RankLogs, ALogThatCannotBeReadIsNamedInItsRow) {
  std::vector<RankLog> ranks = three();
  ranks[0] = {"r0", "get pods/log ml/r0: 403", {}, {}};
  const RanksVerification verification = verify_ranks(ranks);
  EXPECT_TRUE(is_good(verification.findings));
  EXPECT_THAT(verification.sentence, HasSubstr("1 log could not be read"));
  const auto json = to_json(verification, ranks);
  EXPECT_EQ(json["ranks"].size(), 3u);
  EXPECT_EQ(json["ranks"][0]["problem"], "get pods/log ml/r0: 403");
  EXPECT_EQ(json["ranks"][1]["log"]["networks"][0], "IB");
}

}  // namespace
}  // namespace nccl_env::rank_logs_test
