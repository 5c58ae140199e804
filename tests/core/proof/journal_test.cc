// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/proof/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/proof/members.h"

namespace nccl_env::proof_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// The journal of two members and one pair.
Proof two_members() {
  Proof proof;
  EXPECT_TRUE(read_journal_line(test_line(2, 1), proof));
  EXPECT_TRUE(read_journal_line(member_line(member(0, 2)), proof));
  EXPECT_TRUE(read_journal_line(member_line(member(1, 2)), proof));
  return proof;
}

std::string refusal(std::string_view line, Proof proof = two_members()) {
  const Status read = read_journal_line(line, proof);
  return read ? "taken" : read.error().message;
}

TEST(Journal, ReadsWhatItWrote) {
  Proof proof = two_members();
  ProofMember third = member(1, 2);
  third.rails[1].step = ProofStep::Memory;
  third.rails[1].error = 12;
  ProofPair pair{.from = 0, .to = 1, .by = RailsBy::Network, .links = {{.from = 0, .to = 1}}};
  pair.links.push_back({1, 0, ProofStep::Connect, ProofEnd::Both, 110});
  for (const std::string& line : {pair_line(pair), round_line(1), left_line(1), end_line()})
    EXPECT_TRUE(read_journal_line(line, proof)) << line;

  EXPECT_EQ(proof.expected, 2);
  EXPECT_EQ(proof.rounds, 1);
  EXPECT_EQ(proof.rounds_done, 1);
  EXPECT_THAT(proof.left, ElementsAre(1));
  EXPECT_TRUE(proof.ended);
  ASSERT_THAT(proof.members, SizeIs(2));
  EXPECT_EQ(member_line(*proof.at(1)), member_line(member(1, 2)));
  ASSERT_THAT(proof.pairs, SizeIs(1));
  EXPECT_EQ(pair_line(proof.pairs[0]), pair_line(pair));
  EXPECT_THAT(pair_line(pair), HasSubstr(R"("step":"connect","end":"both","error":110)"));
  EXPECT_THAT(member_line(third), HasSubstr(R"("step":"memory","error":12)"));
}

TEST(Journal, TakesLinesOfLaterReleasesAsNothing) {
  Proof proof = two_members();
  EXPECT_TRUE(read_journal_line(R"({"speed":{"gbps":400}})", proof));
  EXPECT_THAT(proof.members, SizeIs(2));
}

TEST(Journal, RefusesWhatContradictsEarlierLines) {
  EXPECT_THAT(refusal(member_line(member(1, 2))), HasSubstr("place 1 is taken"));
  EXPECT_THAT(refusal(member_line(member(2, 2))), HasSubstr("place 2 is taken, or is not one"));
  EXPECT_THAT(refusal(member_line(member(0, 1)), Proof()), HasSubstr("place 0"));
  EXPECT_THAT(refusal(pair_line({.from = 0, .to = 2})), HasSubstr("pair: a member"));
  EXPECT_THAT(refusal(pair_line({.from = 1, .to = 0})), HasSubstr("pair: a member"));
  EXPECT_THAT(refusal(pair_line({.from = 0, .to = 1, .links = {{.from = 0, .to = 2}}})),
              HasSubstr("pair: a member or a rail"));
}

TEST(Journal, HoldsMembersByPlaceAndNoMorePairsThanThereAre) {
  Proof proof;
  for (const std::string& line : {test_line(3, 1), member_line(member(2, 1)), member_line(member(0, 1)),
                                  pair_line({.from = 0, .to = 2})})
    EXPECT_TRUE(read_journal_line(line, proof)) << line;
  EXPECT_EQ(proof.members[0].place, 0);
  EXPECT_FALSE(proof.at(1));
  EXPECT_THAT(refusal(pair_line({.from = 0, .to = 2}), proof), HasSubstr("too many"));
}

TEST(Journal, RefusesWhatIsNotALine) {
  EXPECT_NE(refusal("level=info"), "taken");
  EXPECT_NE(refusal("[]"), "taken");
  EXPECT_NE(refusal(R"({"member":{"place":1,"node":"","rails":[]}})"), "taken");
  EXPECT_NE(refusal(R"({"test":{"expected":0,"rounds":1}})"), "taken");
  EXPECT_NE(refusal(R"({"pair":{"from":0,"to":1,"by":"luck","links":[]}})"), "taken");
  EXPECT_THAT(refusal(std::string(kMaxProofLine + 1, ' ')), HasSubstr("64 KiB"));
}

TEST(Journal, HoldsTheLargestMemberAndPairInALine) {
  ProofMember largest = member(0, kMaxProofRails);
  for (ProofRail& rail : largest.rails) {
    rail.hca = std::string(63, 'x');
    rail.network = std::string(64, '1');
  }
  EXPECT_LT(member_line(largest).size(), kMaxProofLine);
  ProofPair pair{.from = 4094, .to = 4095};
  pair.links.assign(kMaxProofLinks, {63, 63, ProofStep::Connect, ProofEnd::Both, kMaxErrorNumber});
  EXPECT_LT(pair_line(pair).size(), kMaxProofLine);
}

}  // namespace
}  // namespace nccl_env::proof_test
