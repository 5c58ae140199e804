// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/proof/answer.h"

#include <functional>
#include <nlohmann/json.hpp>

#include "core/proof/members.h"
#include "nccl_env/core/proof/rounds.h"
#include "support/matchers.h"

namespace nccl_env::proof_test {
namespace {

using namespace nccl_env::tests;

// True where the link between the two rails of the two members fails.
using Fails = std::function<bool(int from, int to, int from_rail, int to_rail)>;

// The test of members that have gone through all rounds.
Proof tested(std::vector<ProofMember> members, const Fails& fails, ProofStep step = ProofStep::Packet,
             bool all = false) {
  Proof proof;
  proof.expected = static_cast<int>(members.size());
  proof.rounds = proof.rounds_done = 1;
  proof.members = std::move(members);
  for (const ProofRound& round : proof_rounds(proof.expected, all)) {
    for (const auto& [one, other] : round) {
      ProofPair pair = pair_up(*proof.at(one), *proof.at(other), false);
      for (ProofLink& link : pair.links) {
        if (!fails(one, other, link.from, link.to)) continue;
        link.step = step;
        link.end = ProofEnd::Both;
        link.error = step == ProofStep::Connect ? 110 : 12;
      }
      proof.pairs.push_back(std::move(pair));
    }
  }
  proof.ended = true;
  return proof;
}

std::vector<ProofMember> nodes(int count, int rails) {
  std::vector<ProofMember> members;
  for (int place = 0; place < count; ++place) members.push_back(member(place, rails));
  return members;
}

// "RailCutOff gpu-3 mlx5_2:1: sentence".
std::vector<std::string> told(const Proof& proof, const std::vector<UntestedNode>& untested = {}) {
  std::vector<std::string> all;
  for (const Finding& each : answer_proof(proof, untested).findings) {
    std::string text = std::string(to_string(each.code)) + " " + each.subject.name;
    for (const std::string& part : each.subject.parts) text += " " + part;
    all.push_back(text + ": " + each.sentence);
  }
  return all;
}

TEST(Causes, AreNoneWhereAllWorks) {
  const Proof proof = tested(nodes(8, 8), [](int, int, int, int) { return false; });
  EXPECT_THAT(told(proof), IsEmpty());
  EXPECT_EQ(answer_proof(proof, {}).sentence(), "All 160 links of 8 nodes work");
}

TEST(Causes, AreOneBadRailAmong512Nodes) {
  const Proof proof = tested(
      nodes(512, 8), [](int from, int to, int rail, int) { return rail == 2 && (from == 77 || to == 77); });
  EXPECT_THAT(told(proof),
              ElementsAre("RailCutOff gpu-77 mlx5_2:1: mlx5_2:1: 17 of 17 links fail at packet, no "
                          "answer; with gpu-13's mlx5_2:1, gpu-45's mlx5_2:1, gpu-61's mlx5_2:1 "
                          "and 14 more"));
}

TEST(Causes, AreTwoBadRailsThatMeetEachOther) {
  const Proof proof = tested(
      nodes(8, 2), [](int from, int to, int rail, int) { return rail == 1 && (from <= 1 || to <= 1); });
  EXPECT_THAT(told(proof),
              ElementsAre(StartsWith("RailCutOff gpu-0 mlx5_1:1"), StartsWith("RailCutOff gpu-1 mlx5_1:1")));
}

TEST(Causes, AreANetworkInWhichNothingPasses) {
  const Proof proof = tested(nodes(4, 3), [](int, int, int rail, int) { return rail == 1; });
  EXPECT_THAT(
      told(proof),
      ElementsAre("NetworkBroken 10.0.1.0/24: none of 6 links inside 10.0.1.0/24 works: packet, no answer"));
}

TEST(Causes, AreTwoNetworksWithoutARoute) {
  std::vector<ProofMember> members = nodes(6, 1);
  for (ProofMember& each : members) each.rails[0].network = each.place < 3 ? "10.0.0.0/24" : "10.1.0.0/24";
  const Proof proof = tested(
      members, [](int from, int to, int, int) { return (from < 3) != (to < 3); }, ProofStep::Connect, true);
  EXPECT_THAT(told(proof), ElementsAre("NetworkBroken 10.0.0.0/24: none of 9 links between 10.0.0.0/24 and "
                                       "10.1.0.0/24 works: connect, 110 Connection timed out"));
}

TEST(Causes, AreALinkWhereOnlyTwoNodesWereTried) {
  const Proof proof = tested(nodes(2, 2), [](int, int, int rail, int) { return rail == 0; });
  EXPECT_THAT(told(proof), ElementsAre("LinkFails gpu-0 mlx5_0:1: gpu-0's mlx5_0:1 and gpu-1's mlx5_0:1: "
                                       "packet, no answer"));
}

TEST(Causes, AreLongPacketsWhereShortOnesPass) {
  const Proof proof = tested(
      nodes(4, 2), [](int from, int to, int rail, int) { return rail == 0 && (from == 3 || to == 3); },
      ProofStep::Packets);
  EXPECT_THAT(told(proof), ElementsAre(StartsWith("LongPacketsLost gpu-3 mlx5_0:1: mlx5_0:1: 3 of 3 links")));
}

TEST(Causes, NameARailThatFailsByItselfAndTryItWithNobody) {
  std::vector<ProofMember> members = nodes(3, 2);
  members[0].rails[0].step = ProofStep::Memory;
  members[0].rails[0].error = 12;
  members[1].rails[1].step = ProofStep::Port;
  members[2].rails[1].step = ProofStep::Row;
  members[2].rails[1].gid = parse_gid("fe80::1").value();
  const Proof proof = tested(members, [](int, int, int, int) { return false; });
  EXPECT_EQ(answer_proof(proof, {}).sentence(),
            "gpu-1: mlx5_1:1 fails by itself: port; the other 1 link of 3 nodes works");
  EXPECT_THAT(
      told(proof),
      ElementsAre("PortDown gpu-1 mlx5_1:1: mlx5_1:1 fails by itself: port",
                  "LinkLocalGid gpu-2 mlx5_1:1: mlx5_1:1 fails by itself: row",
                  "MemoryLock gpu-0 mlx5_0:1: mlx5_0:1 fails by itself: memory, 12 Cannot allocate memory"));
}

TEST(Causes, OfAMemberThatWentOrFellSilentAreNotItsRails) {
  Proof proof = tested(
      nodes(4, 2), [](int from, int to, int, int) { return from == 2 || to == 2; }, ProofStep::Answer);
  for (ProofPair& pair : proof.pairs) {
    for (ProofLink& link : pair.links) {
      link.error.reset();
      link.end = pair.from == 2 ? ProofEnd::From : ProofEnd::To;
    }
  }
  EXPECT_THAT(told(proof), ElementsAre("NotTested gpu-2: its member fell silent"));
  proof.left = {2};
  EXPECT_THAT(told(proof), ElementsAre("NotTested gpu-2: its member went in the middle of the test"));
  const ProofAnswer answer = answer_proof(proof, {});
  EXPECT_EQ(
      answer.sentence(),
      "The 6 links of 4 nodes work, but not all was tested: gpu-2: its member went in the middle of the "
      "test");
  EXPECT_THAT(render_text(answer), HasSubstr("  gpu-0  0     +  ?  +\n"));
}

// A network of one node: its port may be as much to blame as a route.
TEST(Causes, AreARailWhereItIsAtAnEndOfAllLinksOfANetwork) {
  std::vector<ProofMember> members = nodes(5, 1);
  members[4].rails[0].network = "10.9.0.0/24";
  const Proof proof = tested(members, [](int from, int to, int, int) { return from == 4 || to == 4; });
  EXPECT_THAT(told(proof), ElementsAre(StartsWith("RailCutOff gpu-4 mlx5_0:1: mlx5_0:1: 4 of 4 links")));
}

TEST(Causes, AreBoundedWhereNothingWorksAndNoNetworkIsKnown) {
  std::vector<ProofMember> members = nodes(512, 8);
  for (ProofMember& each : members)
    for (ProofRail& rail : each.rails) rail.network.reset();
  const auto found = told(tested(members, [](int, int, int, int) { return true; }));
  EXPECT_THAT(found, SizeIs(65));
  EXPECT_EQ(found.back(), "LinkFails : 33728 further links fail, of other rails");
}

TEST(Causes, SayWhatWasNotTested) {
  Proof proof = tested(nodes(2, 1), [](int, int, int, int) { return false; });
  proof.rounds = 2;
  proof.ended = false;
  const std::vector<UntestedNode> untested{{"gpu-7", Untested::Busy, "1 Insufficient rdma/hca"},
                                           {"gpu-8", Untested::NotStarted, ""}};
  EXPECT_THAT(told(proof, untested),
              ElementsAre("NotTested gpu-7: busy: 1 Insufficient rdma/hca", "NotTested gpu-8: not started",
                          "NotTested : the test's log ends after round 1 of 2"));
  EXPECT_EQ(answer_proof(proof, untested).sentence(),
            "The 1 link of 2 nodes works, but not all was tested: gpu-7: busy: 1 Insufficient rdma/hca");
  EXPECT_EQ(answer_proof({}, untested).sentence(),
            "Nothing was tested: gpu-7: busy: 1 Insufficient rdma/hca");
}

TEST(Causes, NameANodeWithoutAnyRail) {
  std::vector<ProofMember> members = nodes(3, 1);
  members[1].rails.clear();
  const Proof proof = tested(members, [](int, int, int, int) { return false; });
  EXPECT_THAT(told(proof), ElementsAre("NotTested gpu-1: its pod has no port that NCCL would use"));
}

TEST(Causes, ArePrintedWithWhoWasTriedWithWhom) {
  const ProofAnswer answer = answer_proof(
      tested(nodes(5, 2),
             [](int from, int to, int rail, int) { return rail == 1 && (from == 3 || to == 3); }),
      {});
  const std::string text = render_text(answer);
  EXPECT_THAT(text,
              StartsWith("4 of 20 links of 5 nodes fail: gpu-3: mlx5_1:1: 4 of 4 links fail at packet, no"));
  EXPECT_THAT(text, HasSubstr("\n  gpu-0  0     +  +  1  +\n"));
  EXPECT_THAT(text, HasSubstr("RailCutOff"));
  const nlohmann::ordered_json json = to_json(answer);
  EXPECT_EQ(json["failed"], 4);
  EXPECT_EQ(json["findings"].size(), 1U);
  EXPECT_EQ(json["pairs"].size(), 10U);
}

}  // namespace
}  // namespace nccl_env::proof_test
