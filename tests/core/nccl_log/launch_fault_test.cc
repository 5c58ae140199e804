// SPDX-License-Identifier: Apache-2.0
// A launcher's faults: unlike world sizes, one rank told twice, processes that each run for themselves.
#include "nccl_log/launch_fault.h"

#include <gmock/gmock.h>

#include "core/nccl_log/verify_lines.h"

namespace nccl_env::launch_fault_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using tests::read_lines;
using tests::verify_lines;

std::string began(const std::string& host, int rank, int ranks, const std::string& id = "0x5ea1") {
  return host + ":7:9 [0] NCCL INFO ncclCommInitRankConfig comm 0x1 rank " + std::to_string(rank) +
         " nranks " + std::to_string(ranks) + " cudaDev 0 nvmlDev 0 busId 1 commId " + id + " - Init START\n";
}

std::string fault_of(const std::vector<std::string>& texts) {
  std::vector<NcclLog> logs;
  for (const std::string& text : texts) logs.push_back(read_lines(text));
  std::vector<const NcclLog*> all;
  for (const NcclLog& log : logs) all.push_back(&log);
  const auto fault =
      find_launch_fault(all, [](std::size_t log, const LogFact&) { return "log " + std::to_string(log); });
  return fault ? fault->sentence : "";
}

TEST(LaunchFault, RanksOfOneCommunicatorHaveOneWorldSize) {
  EXPECT_EQ(fault_of({began("a", 0, 8), began("b", 1, 8)}), "");
  EXPECT_EQ(fault_of({began("a", 0, 8), began("b", 1, 4)}),
            "communicator 0x5ea1 has 4 ranks for log 1, 8 ranks for log 0");
  EXPECT_EQ(fault_of({began("a", 0, 8), began("b", 1, 4, "0x77")}), "") << "another communicator";
}

TEST(LaunchFault, NoRankIsToldByTwoProcesses) {
  EXPECT_EQ(fault_of({began("a", 0, 2), began("b", 0, 2)}),
            "in communicator 0x5ea1 rank 0 is each of log 0, log 1");
  EXPECT_EQ(fault_of({began("a", 0, 2), began("a", 0, 2)}), "") << "one process's lines, in two logs";
  EXPECT_EQ(fault_of({began("a", 0, 2), began("b", 0, 2, "0x77")}), "") << "another communicator";
}

TEST(LaunchFault, ANumberThatAllCommunicatorsHaveTellsNothing) {
  EXPECT_EQ(fault_of({"a:7:9 [0] NCCL INFO NCCL_COMM_ID set by environment to 10.0.0.1:23456\n" +
                          began("a", 0, 2) + began("a", 0, 4),
                      began("b", 0, 2)}),
            "");
}

TEST(LaunchFault, SplitsOfOneParentMayShareANumber) {
  const auto told = [](const std::string& host, const std::string& text) {
    return host + ":7:9 [0] NCCL INFO " + text + "\n";
  };
  const auto old = [&](const std::string& host, int rank, int ranks, const std::string& id) {
    std::string text = began(host, rank, ranks, id);
    return text.erase(text.find("ncclCommInitRankConfig "), 23);
  };
  const auto split = [&](const std::string& host, int rank, int ranks) {
    std::string text = began(host, rank, ranks, "0x9 parent 0x1 color 0 key 0");
    return text.replace(text.find("ncclCommInitRankConfig"), 22, "ncclCommSplit");
  };
  EXPECT_EQ(fault_of({split("a", 0, 2), split("b", 0, 4)}), "");
  const auto begins = [&](const std::string& host) {
    return told(host, "Bootstrap : Using eth0:10.0.0.1<0>");
  };
  EXPECT_EQ(fault_of({begins("a") + old("a", 0, 4, "0x1") + old("a", 0, 2, "0x9"),
                      begins("b") + old("b", 1, 4, "0x1") + old("b", 0, 2, "0x9")}),
            "");
  EXPECT_EQ(fault_of({old("a", 0, 2, "0x9"), old("b", 0, 4, "0x9")}), "") << "the beginning was cut off";
  EXPECT_THAT(fault_of({begins("a") + old("a", 0, 2, "0x1"), begins("b") + old("b", 0, 2, "0x1")}),
              HasSubstr("rank 0 is each of"));
}

TEST(LaunchFault, NcclsOwnWordsAreEnough) {
  EXPECT_EQ(
      fault_of({began("a", 0, 8) + "a:7:9 [0] bootstrap.cc:1 NCCL WARN Bootstrap Root : mismatch in rank "
                                   "count from procs 8 : 4\n",
                began("b", 1, 4)}),
      "");
}

TEST(LaunchFault, IsTheDiagnosisOfOneLogWithAllRanks) {
  const std::string sizes = began("a", 0, 4) + began("b", 1, 4) + began("c", 2, 2);
  EXPECT_THAT(verify_lines(sizes).sentence,
              AllOf(StartsWith("LaunchFailed: Ranks of one communicator come with unequal numbers"),
                    HasSubstr("2 ranks for c:7, 4 ranks for a:7, b:7")));
  EXPECT_THAT(verify_lines(began("a", 0, 4) + began("b", 1, 4) + began("c", 1, 4)).sentence,
              HasSubstr("rank 1 is each of b:7, c:7"));
  EXPECT_THAT(verify_lines(began("a", 0, 4) + began("b", 1, 4)).sentence, StartsWith("InitNotEnded"));
}

TEST(LaunchFault, LogsWithACommonCommunicatorAreOfOneJob) {
  const NcclLog a = read_lines(began("a", 0, 2, "0x1")), b = read_lines(began("b", 1, 2, "0x1")),
                c = read_lines(began("c", 0, 2, "0x2")), d = read_lines(began("d", 1, 2, "0x2"));
  const NcclLog both = read_lines(began("e", 0, 2, "0x1") + began("e", 1, 2, "0x2")), none;
  const auto jobs = [](std::vector<const NcclLog*> logs) { return jobs_of(logs); };
  EXPECT_THAT(jobs({&a, &c, &b, &d, &none}), ElementsAre(0, 1, 0, 1, 0));
  EXPECT_THAT(jobs({&a, &c, &both}), ElementsAre(0, 0, 0));
}

}  // namespace
}  // namespace nccl_env::launch_fault_test
