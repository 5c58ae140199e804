// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/proof/rounds.h"

#include <map>
#include <set>

#include "core/proof/members.h"
#include "support/matchers.h"

namespace nccl_env::proof_test {
namespace {

using namespace nccl_env::tests;

std::set<std::pair<int, int>> pairs_of(const std::vector<ProofRound>& rounds) {
  std::set<std::pair<int, int>> pairs;
  for (const ProofRound& round : rounds) {
    for (const auto& pair : round) {
      EXPECT_LT(pair.first, pair.second);
      EXPECT_TRUE(pairs.insert(pair).second) << pair.first << " and " << pair.second << " twice";
    }
  }
  return pairs;
}

// "0-1 2-0", and how rails were put together.
std::string links_of(const ProofPair& pair) {
  std::string text;
  for (const ProofLink& link : pair.links)
    text += (text.empty() ? "" : " ") + std::to_string(link.from) + "-" + std::to_string(link.to);
  return text;
}

TEST(Rounds, TryEachMemberWithItsNeighboursAtPowersOfTwo) {
  EXPECT_THAT(proof_rounds(1, false), IsEmpty());
  EXPECT_THAT(proof_rounds(2, false), ElementsAre(ElementsAre(Pair(0, 1))));
  EXPECT_THAT(proof_rounds(4, false), SizeIs(2));
  const auto rounds = proof_rounds(512, false);
  EXPECT_THAT(rounds, SizeIs(9));
  const auto pairs = pairs_of(rounds);
  EXPECT_THAT(pairs, SizeIs(512 * 8 + 256));  // at half the way round both are each other's
  std::map<int, int> times;
  for (const auto& [one, other] : pairs) ++times[one], ++times[other];
  for (const auto& [place, count] : times) EXPECT_EQ(count, 17) << place;
}

TEST(Rounds, TryEachWithEachOnceAPeerARound) {
  for (const int members : {2, 3, 5, 8, 64}) {
    const auto rounds = proof_rounds(members, true);
    EXPECT_THAT(pairs_of(rounds), SizeIs(members * (members - 1) / 2)) << members;
    for (const ProofRound& round : rounds) {
      std::set<int> busy;
      for (const auto& [one, other] : round)
        EXPECT_TRUE(busy.insert(one).second && busy.insert(other).second);
    }
  }
}

TEST(Rails, AreOfOneNetwork) {
  ProofMember turned = member(1, 3);
  std::swap(turned.rails[0], turned.rails[2]);
  const ProofPair pair = pair_up(member(0, 3), turned, false);
  EXPECT_EQ(pair.by, RailsBy::Network);
  EXPECT_EQ(links_of(pair), "0-2 1-1 2-0");
  EXPECT_EQ(links_of(pair_up(member(0, 3), member(1, 2), false)), "0-0 1-1");
}

TEST(Rails, AreOfOneNameWhereNetworksDoNotTell) {
  ProofMember from = member(0, 2), to = member(1, 2);
  for (ProofMember* each : {&from, &to})
    for (ProofRail& rail : each->rails) rail.network = "10.0.0.0/16";
  const ProofPair pair = pair_up(from, to, false);
  EXPECT_EQ(pair.by, RailsBy::Name);
  EXPECT_EQ(links_of(pair), "0-0 1-1");
  to.rails[0].network.reset();
  to.rails[0].hca = "rocep0";
  EXPECT_EQ(pair_up(from, to, false).by, RailsBy::Place);
  EXPECT_EQ(links_of(pair_up(from, to, false)), "0-0 1-1");
}

TEST(Rails, ThatFailedOrHaveAnotherLinkLayerAreNotTried) {
  ProofMember from = member(0, 3), to = member(1, 3);
  from.rails[1].step = ProofStep::Row;
  to.rails[2].link_layer = LinkLayer::InfiniBand;
  EXPECT_EQ(links_of(pair_up(from, to, false)), "0-0");
  EXPECT_EQ(links_of(pair_up(from, to, true)), "0-0 0-1 2-0 2-1");
  for (ProofRail& rail : from.rails) rail.step = ProofStep::Open;
  EXPECT_EQ(links_of(pair_up(from, to, false)), "");
}

// Each has lost another rail: what is left on both sides is not one rail.
TEST(Rails, ThatAreLeftDoNotTakeEachOthersPlace) {
  ProofMember from = member(0, 2), to = member(1, 2);
  from.rails[0].step = ProofStep::Port;
  to.rails[1].step = ProofStep::Port;
  EXPECT_EQ(links_of(pair_up(from, to, false)), "");
  from.rails[0].network.reset();  // a port that is down has none
  EXPECT_EQ(links_of(pair_up(from, to, false)), "");
}

TEST(Rails, AreAtMostKMaxProofLinksAcross) {
  EXPECT_THAT(pair_up(member(0, 64), member(1, 64), true).links, SizeIs(kMaxProofLinks));
}

}  // namespace
}  // namespace nccl_env::proof_test
