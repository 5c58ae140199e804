// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/proof/lines.h"

#include "core/proof/members.h"
#include "nccl_env/core/fabric/gid.h"
#include "support/matchers.h"

namespace nccl_env::proof_test {
namespace {

using namespace nccl_env::tests;

std::string line_of(const ProofMember& member) {
  return to_line(JournalLine{.members = {{member}}});
}
std::string line_of(const ProofPair& pair) {
  return to_line(JournalLine{.pairs = {{pair}}});
}
std::string test_line(int expected, int rounds) {
  return to_line(JournalLine{.expected = expected, .rounds = rounds});
}

// The journal of two members.
Proof two_members() {
  Proof proof;
  EXPECT_TRUE(read_journal_line(test_line(2, 1), proof));
  EXPECT_TRUE(read_journal_line(line_of(member(0, 2)), proof));
  EXPECT_TRUE(read_journal_line(line_of(member(1, 2)), proof));
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
  for (const std::string& line : {line_of(pair), std::string(R"({"roundsDone":1})"),
                                  std::string(R"({"left":1})"), std::string(R"({"ended":true})")})
    EXPECT_TRUE(read_journal_line(line, proof)) << line;

  EXPECT_EQ(proof.expected, 2);
  EXPECT_EQ(proof.rounds, 1);
  EXPECT_EQ(proof.rounds_done, 1);
  EXPECT_THAT(proof.left, ElementsAre(1));
  EXPECT_TRUE(proof.ended);
  ASSERT_THAT(proof.members, SizeIs(2));
  EXPECT_EQ(line_of(*proof.at(1)), line_of(member(1, 2)));
  ASSERT_THAT(proof.pairs, SizeIs(1));
  EXPECT_EQ(line_of(proof.pairs[0]), line_of(pair));
  EXPECT_THAT(line_of(pair), HasSubstr(R"("step":"connect","end":"both","error":110)"));
  EXPECT_THAT(line_of(third), HasSubstr(R"("step":"memory","error":12)"));
}

TEST(Journal, TakesLinesOfLaterReleasesAsNothing) {
  Proof proof = two_members();
  EXPECT_TRUE(read_journal_line(R"({"speed":{"gbps":400}})", proof));
  EXPECT_THAT(proof.members, SizeIs(2));
}

TEST(Journal, RefusesWhatContradictsEarlierLines) {
  EXPECT_THAT(refusal(line_of(member(1, 2))), HasSubstr("place 1 is taken"));
  EXPECT_THAT(refusal(line_of(member(2, 2))), HasSubstr("place 2 is taken, or is not one"));
  EXPECT_THAT(refusal(line_of(member(0, 1)), Proof()), HasSubstr("place 0"));
  EXPECT_THAT(refusal(line_of(ProofPair{.from = 0, .to = 2})), HasSubstr("pairs: a member"));
  EXPECT_THAT(refusal(line_of(ProofPair{.from = 1, .to = 0})), HasSubstr("pairs: a member"));
  EXPECT_THAT(refusal(line_of(ProofPair{.from = 0, .to = 1, .links = {{.from = 0, .to = 2}}})),
              HasSubstr("pairs: a member or a rail"));
}

TEST(Journal, HoldsMembersByPlaceAndNoMorePairsThanThereAre) {
  Proof proof;
  for (const std::string& line : {test_line(3, 1), line_of(member(2, 1)), line_of(member(0, 1)),
                                  line_of(ProofPair{.from = 0, .to = 2})})
    EXPECT_TRUE(read_journal_line(line, proof)) << line;
  EXPECT_EQ(proof.members[0].place, 0);
  EXPECT_FALSE(proof.at(1));
  EXPECT_THAT(refusal(line_of(ProofPair{.from = 0, .to = 2}), proof), HasSubstr("too many"));
}

TEST(Journal, RefusesWhatIsNotALine) {
  EXPECT_NE(refusal("level=info"), "taken");
  EXPECT_NE(refusal("[]"), "taken");
  EXPECT_NE(refusal(R"({"members":[{"place":1,"node":"","rails":[]}]})"), "taken");
  EXPECT_NE(refusal(R"({"expected":0,"rounds":1})"), "taken");
  EXPECT_NE(refusal(R"({"pairs":[{"from":0,"to":1,"by":"luck","links":[]}]})"), "taken");
  EXPECT_THAT(refusal(std::string(kMaxProofLine + 1, ' ')), HasSubstr("64 KiB"));
}

TEST(Journal, HoldsTheLargestMemberAndPairInALine) {
  ProofMember largest = member(0, kMaxProofRails);
  for (ProofRail& rail : largest.rails) {
    rail.hca = std::string(63, 'x');
    rail.network = std::string(64, '1');
  }
  EXPECT_LT(line_of(largest).size(), kMaxProofLine);
  ProofPair pair{.from = 4094, .to = 4095};
  pair.links.assign(kMaxProofLinks, {63, 63, ProofStep::Connect, ProofEnd::Both, kMaxErrorNumber});
  EXPECT_LT(line_of(pair).size(), kMaxProofLine);
}

const Gid kLongestGid = *parse_gid("fe80:1111:2222:3333:4444:5555:6666:7777");

TEST(LinkWords, AreReadAsTheyWereWritten) {
  const LinkWord start{.link = 7, .end = ProofEnd::From, .rail = 5, .bytes = 4096};
  EXPECT_EQ(to_line(start), R"({"link":7,"end":"from","rail":5,"bytes":4096})");
  const LinkWord address{.link = 1 << 30,
                         .queue_pair = (1 << 24) - 1,
                         .gid = kLongestGid,
                         .lid = 65535,
                         .mtu = 4096,
                         .key = 4294967295.0};
  const LinkWord fault{.link = 0, .step = ProofStep::Packets, .error = 12};
  for (const LinkWord& word : {start, address, fault, LinkWord()})
    EXPECT_EQ(to_line(*read_line<LinkWord>(to_line(word))), to_line(word));
  EXPECT_EQ(read_line<LinkWord>(to_line(address))->key, 4294967295.0);
}

TEST(LinkWords, AreRefusedByField) {
  const auto refused = [](std::string_view line) { return read_line<LinkWord>(line).error().message; };
  EXPECT_THAT(refused(R"({"step":"obey"})"), HasSubstr("step"));
  EXPECT_THAT(refused(R"({"link":0,"queuePair":16777216})"), HasSubstr("queuePair"));
  EXPECT_THAT(refused(R"({"link":0,"key":4294967296})"), HasSubstr("key"));
  EXPECT_THAT(refused(R"({"bytes":8192})"), HasSubstr("bytes"));
  EXPECT_NE(refused("GET / HTTP/1.1"), "");
  EXPECT_THAT(refused(std::string(kMaxProofLine + 1, '{')), HasSubstr("64 KiB"));
}

TEST(Hello, IsReadWithTheTokenAlone) {
  const std::string rest = " " + to_line(member(3, 8));
  EXPECT_EQ(" " + to_line(*read_hello("abc" + rest, "abc")), rest);
  for (const char* token : {"", "ab", "abd", "abcd"})
    EXPECT_THAT(read_hello(token + rest, "abc").error().message, HasSubstr("the token")) << token;
  EXPECT_THAT(read_hello("abc", "abc").error().message, HasSubstr("the token"));
  EXPECT_THAT(read_hello(rest, "").error().message, HasSubstr("the token"));
  EXPECT_THAT(read_hello(R"(abc {"place":-1,"node":"a","rails":[]})", "abc").error().message,
              HasSubstr("place"));
}

}  // namespace
}  // namespace nccl_env::proof_test
