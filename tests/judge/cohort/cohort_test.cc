// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/cohort/cohort.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nccl_env::cohort_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Text = std::optional<std::string>;
const Text kUnknown;

// "r1 r3: b, not a (2, r0)" of each difference, and how many others there are.
std::vector<std::string> told(const std::vector<Text>& values,
                              Text (*usual)(const Shares<std::string>&) = majority_of<std::string>,
                              const std::vector<Text>& groups = {}) {
  Members cohort;
  for (std::size_t i = 0; i < values.size(); ++i) cohort.push_back(i);
  Agreement<std::string> row{Code::OddNode,
                             Severity::Warning,
                             "NCCL_X",
                             [&](std::size_t member) { return values[member]; },
                             [](const Odd<std::string>& odd) {
                               return odd.value == "fine" ? ""
                                                          : odd.value + ", not " + odd.usual.value_or("?");
                             },
                             "Do.",
                             usual};
  if (!groups.empty()) row.group = [&](std::size_t member) { return groups[member]; };
  const auto names = [](const Members& members) {
    std::string text;
    for (const std::size_t member : members) text += (text.empty() ? "r" : " r") + std::to_string(member);
    return text;
  };
  std::vector<std::string> all;
  for (const Difference& each : differences(cohort, row)) {
    EXPECT_EQ(each.finding.code, Code::OddNode);
    EXPECT_EQ(each.finding.subject.path, "NCCL_X");
    EXPECT_EQ(each.finding.remedy, "Do.");
    all.push_back(names(each.members) + ": " + each.finding.sentence + " (" +
                  std::to_string(each.others.count) + ", r" + std::to_string(each.others.first) + ")");
  }
  return all;
}

TEST(Cohort, WhoHasSomethingElseThanMostIsOdd) {
  EXPECT_THAT(told({"a", "b", "a", "c", "a", "a", "b"}),
              ElementsAre("r1 r6: b, not a (4, r0)", "r3: c, not a (4, r0)"));
  EXPECT_THAT(told({"a", "a"}), IsEmpty());
  EXPECT_THAT(told({"a", "fine", "a"}), IsEmpty()) << "the row has no words for it";
}

TEST(Cohort, WithoutAMajorityEachIsOddOrTheGreatestIsUsual) {
  EXPECT_THAT(told({"a", "b"}), ElementsAre("r0: a, not ? (1, r1)", "r1: b, not ? (1, r0)"));
  EXPECT_THAT(told({"a", "b", "a", "b"}), ElementsAre("r0 r2: a, not ? (2, r1)", "r1 r3: b, not ? (2, r0)"));
  EXPECT_THAT(told({"a", "b", "a", "b"}, most_of<std::string>), ElementsAre("r0 r2: a, not b (2, r1)"));
  EXPECT_THAT(told({"a", "b", "c", "a"}, most_of<std::string>),
              ElementsAre("r1: b, not a (2, r0)", "r2: c, not a (2, r0)"));
}

TEST(Cohort, WhoDoesNotTellTakesNoPart) {
  EXPECT_THAT(told({kUnknown, "b", "a", kUnknown, "a", kUnknown}), ElementsAre("r1: b, not a (2, r2)"));
  EXPECT_THAT(told({kUnknown, "b", kUnknown}), IsEmpty());
  EXPECT_THAT(told({"a"}), IsEmpty());
  EXPECT_THAT(told({kUnknown}, most_of<std::string>), IsEmpty());
  EXPECT_THAT(told({}), IsEmpty());
}

TEST(Cohort, RolesAreComparedEachByItself) {
  EXPECT_THAT(told({"a", "b", "a", "b", "b", "a"}, majority_of<std::string>,
                   {"master", "worker", "master", "worker", "worker", "worker"}),
              ElementsAre("r5: a, not b (3, r1)"));
  EXPECT_THAT(told({"a", "b"}, majority_of<std::string>, {"master", kUnknown}), IsEmpty());
}

TEST(Cohort, AMajorityMayHaveToBeOfSoMany) {
  Shares<int> shares;
  EXPECT_EQ(shares.majority(), std::nullopt);
  EXPECT_EQ(shares.most(), std::nullopt);
  shares.add(0, 7);
  shares.add(1, 7);
  EXPECT_EQ(shares.majority(), 7);
  EXPECT_EQ(shares.majority(3), std::nullopt);
  shares.add(2, 9);
  EXPECT_EQ(shares.majority(3), 7);
  shares.add(3, 9);
  EXPECT_EQ(shares.majority(3), std::nullopt) << "half are odd";
  EXPECT_EQ(shares.most(), 9);
  EXPECT_EQ(shares.most([](int value) { return -value; }), 7);
  EXPECT_THAT(odd_ones(Shares<int>{{{7, {0, 2}}}, 2}, std::optional(9)).at(0).members, ElementsAre(0, 2))
      << "told from elsewhere";
}

}  // namespace
}  // namespace nccl_env::cohort_test
