// SPDX-License-Identifier: Apache-2.0
// The ranks of a job side by side: who is told first, and what sets a rank apart.
#include "nccl_env/judge/nccl_log/rank_logs.h"

#include <nlohmann/json.hpp>

#include "judge/nccl_log/verify_lines.h"
#include "support/golden.h"

namespace nccl_env::rank_logs_test {
namespace {

using namespace nccl_env::tests;

RankLog rank_of(const std::string& name, const std::string& text) {
  return {name, {}, read_lines(text), verify_lines(text)};
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
  expect_golden(render_text(verification, ranks));
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
  expect_golden(render_text(verification, ranks));
  std::swap(ranks[0], ranks[2]);
  EXPECT_EQ(first_of(ranks), "r2");
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
  expect_golden(render_text(verify_ranks(ranks), ranks));
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

TEST(RankLogs, AnErrorThatEndsARankIsTheCauseOfTheErrorsThatNameIt) {
  const auto rank = [](const std::string& name, int number, const std::string& more) {
    return rank_of(name, healthy(name, "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE", number) + more);
  };
  const std::string error =
      "r0:1:1 [0] x.cc:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.3<4711> with status=12 opcode=0 "
      "len=0 vendor err 129 (Send) hca mlx5_0\n";
  const auto first = [&](const std::string& of_first, const std::string& of_last,
                         const std::string& between = {}) {
    return verify_ranks({rank("r0", 1, of_first), rank("r1", 2, between), rank("r2", 3, of_last)}).sentence;
  };
  const auto ended = StartsWith("EndedElsewhere, r2: line 5: ");
  EXPECT_THAT(first(error, "Segmentation fault (core dumped)\n"), ended);
  EXPECT_THAT(first(error, "[rank2]: ValueError: loss is NaN\n"), ended);
  EXPECT_THAT(first(error, "RuntimeError: CUDA error: out of memory\n"),
              HasSubstr("It led to the errors of r0."));
  const std::string closed = ":1:1 [0] x.cc:1 NCCL WARN Connection closed by remote peer far<1>\n";
  EXPECT_THAT(first("r0" + closed, "Killed\n"), ended) << "no error names a rank that is here";
  const auto refused = StartsWith("r0: NoAnswer: ");
  EXPECT_THAT(first(error, "", "Killed\n"), refused) << "the error names another rank";
  EXPECT_THAT(first(error, "2026-11-27T14:02:11Z Killed\n"), ended);
  EXPECT_THAT(first("2026-11-27T14:01:00Z " + error, "2026-11-27T14:02:11Z Killed\n"), refused)
      << "it came later";
  std::string went_on;
  for (int step = 0; step < 30; ++step) went_on += "step " + std::to_string(step) + "\n";
  EXPECT_THAT(first(error, "ValueError: bad sample, skipped\n" + went_on), refused);
  EXPECT_THAT(first(error, "r2" + closed + "Segmentation fault\n"), refused) << "it lost another before";
  const std::string port = "r1:1:1 [0] x.cc:1 NCCL WARN NET/IB : mlx5_1:1 Got async event : port error\n";
  EXPECT_THAT(first(error, "Killed\n", port), StartsWith("r1: LinkDown: ")) << "a port's event is ours";
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
}

TEST(RankLogs, ARankWithFewerHcasIsTold) {
  std::vector<RankLog> ranks = three();
  ranks[1] = rank_of("r1", healthy("r1", "[0]mlx5_0:1/RoCE"));
  const RanksVerification verification = verify_ranks(ranks);
  ASSERT_EQ(verification.findings.size(), 1u);
  EXPECT_EQ(verification.findings[0].code, Code::MissingRail);
  EXPECT_EQ(verification.findings[0].subject.parts, std::vector<std::string>{"r1"});
  EXPECT_EQ(first_of(ranks), "r1");
  expect_golden(verification.sentence);
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
  EXPECT_EQ(verify_ranks(ranks).findings.at(0).code, Code::RankRowDiffers);
  std::string old = healthy("r0");
  old.replace(old.find("2.27.3"), 6, "2.21.5");
  ranks[0] = rank_of("r0", old);
  EXPECT_EQ(verify_ranks(ranks).findings.at(0).code, Code::NcclVersionsDiffer);
  EXPECT_EQ(first_of(ranks), "r0");
  ranks = three();
  ranks[1] =
      rank_of("r1", "RuntimeError: NCCL error in: a.cpp:1, unhandled system error, NCCL version 2.27.3\n");
  for (const Finding& finding : verify_ranks(ranks).findings)
    EXPECT_NE(finding.code, Code::NcclVersionsDiffer) << "without its build: " << finding.sentence;
  ranks[1] = rank_of("r1", "NCCL version 2.26.2+cuda12.8\n");
  EXPECT_THAT(verify_ranks(ranks).sentence, HasSubstr("NcclVersionsDiffer"));
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
}

TEST(RankLogs, AFileWithoutALineIsNoRankThatAgrees) {
  std::vector<RankLog> ranks{rank_of("a.log", healthy("r0")), rank_of("b.log", "")};
  EXPECT_THAT(verify_ranks(ranks).findings, IsEmpty()) << "a launcher's, say";
  ranks[1].by_hand = true;
  const RanksVerification verification = verify_ranks(ranks);
  EXPECT_FALSE(is_good(verification.findings));
  EXPECT_THAT(verification.sentence, HasSubstr("b.log: no line of NCCL's"));
  const std::string waits = line("r0", "comm 0x1 rank 0 nranks 3 cudaDev 0 busId 1 - Init START");
  for (const bool by_hand : {false, true}) {
    ranks[0] = rank_of("r0", healthy("r0") + waits);
    ranks[1].by_hand = by_hand;
    const bool told =
        render_text(verify_ranks(ranks), ranks).find("b.log: no line of NCCL's, though others wait") !=
        std::string::npos;
    EXPECT_EQ(told, by_hand);
  }
}

TEST(RankLogs, OnAnotherLinkOrNetworkHaveOneFinding) {
  std::vector<RankLog> ranks = three();
  ranks[1] = rank_of("r1", healthy("r1", "[0]mlx5_0:1/IB [1]mlx5_1:1/IB"));
  const RanksVerification links = verify_ranks(ranks);
  ASSERT_EQ(links.findings.size(), 1u);
  EXPECT_FALSE(is_good(links.findings));
  EXPECT_THAT(links.sentence, StartsWith("MixedLinks, r1: HCAs of InfiniBand instead of RoCE (line 3). "
                                         "NCCL uses HCAs of both kinds"));
  ranks[1] =
      rank_of("r1", line("r1", "NET/IB : No device found.") + line("r1", "Using network Socket") +
                        line("r1", "comm 0x1 rank 1 nRanks 16 nNodes 2 localRanks 8 localRank 1 MNNVL 0"));
  ASSERT_EQ(ranks[1].verification.findings.front().code, Code::FellBack);
  const RanksVerification networks = verify_ranks(ranks);
  ASSERT_EQ(networks.findings.size(), 1u);
  EXPECT_THAT(networks.sentence, StartsWith("MixedNetworks, r1: network Socket instead of IB"));
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

// "[PG ID 0 PG GUID 0(default_pg) Rank 2] Watchdog caught …" of rank 2; `of`: what stands in the brackets.
std::string waits(int rank, int sequence, const std::string& name, const std::string& of = "") {
  return "[rank" + std::to_string(rank) + "]:[E1130 10:11:12 ProcessGroupNCCL.cpp:629] [" +
         (of.empty() ? "Rank " + std::to_string(rank) : of) +
         "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=" + std::to_string(sequence) +
         ", OpType=" + name + ", NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600029 milliseconds\n";
}

TEST(RankLogs, TheRankThatOthersWaitForIsTold) {
  const auto ranks = [](const std::vector<std::string>& lines) {
    std::vector<RankLog> all;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string name = "r" + std::to_string(i);
      all.push_back(rank_of(name, healthy(name) +
                                      line(name, "comm 0x5 rank " + std::to_string(i) + " nranks " +
                                                     std::to_string(lines.size()) + " - Init COMPLETE") +
                                      lines[i]));
    }
    return all;
  };
  const auto told = [&](const std::vector<std::string>& lines) {
    return verify_ranks(ranks(lines)).sentence;
  };
  const std::string none, most = "others wait in ALLREDUCE, SeqNum 77. Look first at what that rank logs.";
  const auto reduces = [](int rank, const std::string& of = "") { return waits(rank, 77, "ALLREDUCE", of); };
  const auto others = ranks({reduces(0), reduces(1), waits(2, 71, "ALLREDUCE")});
  expect_golden(render_text(verify_ranks(others), others));
  EXPECT_EQ(told({reduces(0), waits(1, 77, "ALLGATHER"), reduces(2)}),
            "TimedOut, r1: rank 1 is elsewhere (ALLGATHER, SeqNum 77), " + most);
  EXPECT_EQ(told({reduces(0), reduces(1), none}), "TimedOut, r2: rank 2 is behind (no time-out), " + most);
  EXPECT_EQ(told({reduces(0), waits(1, 71, "ALLREDUCE")}),
            "TimedOut, r1: rank 1 is behind (ALLREDUCE, SeqNum 71), " + most);
  const std::string named = "PG ID 1 PG GUID 3(tp) Rank 0", other = "PG ID 1 PG GUID 4(tp) Rank 0";
  EXPECT_EQ(told({reduces(0, named), waits(1, 71, "ALLREDUCE", "PG ID 1 PG GUID 3(tp) Rank 1"), none}),
            "TimedOut, r1: rank 1 is behind (ALLREDUCE, SeqNum 71), " + most);
  const auto as_before = StartsWith("r0: TimedOut: A collective did not end in time");
  EXPECT_THAT(told({reduces(0), reduces(1), reduces(2)}), as_before) << "all wait in one call";
  EXPECT_THAT(told({reduces(0, named), reduces(1, other), waits(2, 71, "ALLREDUCE")}), as_before)
      << "each group counts by itself";
  EXPECT_THAT(told({reduces(0), waits(1, 71, "ALLREDUCE"), waits(2, 71, "ALLREDUCE", "Rank 0")}), as_before)
      << "a group of some ranks, without a name";
  EXPECT_THAT(told({reduces(0), reduces(1), waits(2, 5, "SEND")}), as_before)
      << "two ranks count by themselves";
  EXPECT_THAT(told({reduces(0), none, none}), as_before) << "most tell none: they may have been ended before";
  EXPECT_THAT(told({reduces(0), reduces(0), waits(0, 71, "ALLREDUCE")}), as_before) << "of several jobs";
  const std::string one = healthy("r0") + reduces(0) + reduces(1) + waits(2, 71, "ALLREDUCE");
  EXPECT_THAT(
      verify_lines(one).sentence,
      StartsWith("TimedOut: rank 2 is behind (ALLREDUCE, SeqNum 71), others wait in ALLREDUCE, SeqNum 77. "));
  EXPECT_THAT(verify_lines(one).sentence, EndsWith("Look first at what that rank logs."));
  EXPECT_THAT(
      verify_lines(
          healthy("r0") +
          line("r0", "ncclCommInitRank comm 0x1 rank 0 nranks 16 cudaDev 0 busId 1 commId 0x9 - Init START") +
          reduces(3))
          .sentence,
      StartsWith("TimedOut: who is behind is open, as there are logs of 2 of 16 ranks; of these, rank 0 is"));
  EXPECT_THAT(verify_lines(healthy("r0") + waits(2, 71, "ALLREDUCE")).sentence,
              StartsWith("TimedOut: A coll"));
}

TEST(RankLogs, ThatEndBeforeTheInitialisationDidDoNotAgree) {
  EXPECT_EQ(verify_ranks(three()).sentence,
            "The logs of 3 ranks tell no failure, nor that the initialisation ended: the job waits before "
            "that, or the logs were cut.");
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
