// SPDX-License-Identifier: Apache-2.0
// A whole test of a fabric, well and with each fault.
#include "packets/test_run.h"
#include "support/matchers.h"

namespace nccl_env::tests::run_test {
namespace {

using Fate = FakeFabric::Fate;
using Write = FakeFabric::Write;

class FabricRun : public TestRun {};

TEST_F(FabricRun, AWellFabricHasNoFault) {
  const Proof proof = run(4);
  EXPECT_TRUE(led_) << led_.error().message;
  EXPECT_THAT(errors_, IsEmpty());
  EXPECT_TRUE(proof.ended);
  EXPECT_EQ(proof.rounds, 2);
  EXPECT_EQ(proof.rounds_done, 2);
  EXPECT_THAT(proof.members, SizeIs(4));
  EXPECT_THAT(proof.left, IsEmpty());
  EXPECT_THAT(pairs_of(proof), UnorderedElementsAre("0>1: 0-0 1-1", "1>2: 0-0 1-1", "2>3: 0-0 1-1",
                                                    "0>3: 0-0 1-1", "0>2: 0-0 1-1", "1>3: 0-0 1-1"));
  EXPECT_EQ(proof.pairs.front().by, RailsBy::Network);
  const ProofRail& rail = proof.at(1)->rails.at(1);
  EXPECT_EQ(rail.gid_index, 3);
  EXPECT_EQ(rail.network, "10.1.0.0/16");
  EXPECT_EQ(rail.mtu, 4096);
}

TEST_F(FabricRun, EachLinkIsWrittenFromBothEndsInASmallAndALargeMessageAndThenReleased) {
  fabric_.mtus["gpu-1/mlx5_0"] = 1024;
  EXPECT_THAT(pairs_of(run(2)), ElementsAre("0>1: 0-0 1-1"));
  std::vector<std::string> writes;
  for (const Write& write : fabric_.written())
    writes.push_back(write.from + ">" + write.to + " " + std::to_string(write.bytes) + " " +
                     std::to_string(write.mtu));
  EXPECT_THAT(writes, UnorderedElementsAre(
                          "gpu-0/mlx5_0>gpu-1/mlx5_0 256 1024", "gpu-0/mlx5_0>gpu-1/mlx5_0 4096 1024",
                          "gpu-1/mlx5_0>gpu-0/mlx5_0 256 1024", "gpu-1/mlx5_0>gpu-0/mlx5_0 4096 1024",
                          "gpu-0/mlx5_1>gpu-1/mlx5_1 256 4096", "gpu-0/mlx5_1>gpu-1/mlx5_1 4096 4096",
                          "gpu-1/mlx5_1>gpu-0/mlx5_1 256 4096", "gpu-1/mlx5_1>gpu-0/mlx5_1 4096 4096"));
}

TEST_F(FabricRun, ARailThatFailsAloneIsToldByItsMemberAndNotTried) {
  fabric_.broken["gpu-1/mlx5_1"] = {ProofStep::Memory, ENOMEM};
  const Proof proof = run(2);
  EXPECT_EQ(proof.at(1)->rails.at(1).step, ProofStep::Memory);
  EXPECT_EQ(proof.at(1)->rails.at(1).error, ENOMEM);
  EXPECT_FALSE(proof.at(1)->rails.at(0).step);
  EXPECT_THAT(pairs_of(proof), ElementsAre("0>1: 0-0"));
}

TEST_F(FabricRun, AMemberWithoutARailIsInAPairWithoutALink) {
  fabric_.broken["gpu-1/mlx5_0"] = fabric_.broken["gpu-1/mlx5_1"] = {ProofStep::Open, EACCES};
  const Proof proof = run(2);
  EXPECT_THAT(pairs_of(proof), ElementsAre("0>1: "));
  EXPECT_TRUE(proof.ended);
  EXPECT_THAT(errors_, IsEmpty());
}

TEST_F(FabricRun, APortThatGoesDownLaterFailsAtItsQueuePair) {
  lead(2);
  join(1);
  fabric_.broken["gpu-1/mlx5_0"] = {ProofStep::Queue, EIO};
  join(0);
  EXPECT_THAT(pairs_of(told()), ElementsAre("0>1: 0-0:queue@to(5) 1-1"));
}

TEST_F(FabricRun, WithoutARouteConnectingFails) {
  fabric_.connects = [](const std::string& from, const std::string&) {
    return from == "gpu-0/mlx5_1" ? EHOSTUNREACH : 0;
  };
  EXPECT_THAT(pairs_of(run(2)), ElementsAre("0>1: 0-0 1-1:connect@from(113)"));
}

TEST_F(FabricRun, AFaultThatBothEndsSeeIsOfBoth) {
  fabric_.connects = [](const std::string& from, const std::string&) {
    return from.ends_with("mlx5_1") ? ETIMEDOUT : 0;
  };
  EXPECT_THAT(pairs_of(run(2)), ElementsAre("0>1: 0-0 1-1:connect@both(110)"));
  for (const Write& write : fabric_.written())
    EXPECT_THAT(write.from, HasSubstr("mlx5_0")) << "not asked any more";
}

TEST_F(FabricRun, AnMtuTooSmallInTheMiddleLosesTheLargeMessage) {
  fabric_.writes = [](const Write& write) {
    return write.from == "gpu-1/mlx5_0" && write.bytes > 1500 ? Fate::Lost : Fate::Arrives;
  };
  EXPECT_THAT(pairs_of(run(2)), ElementsAre("0>1: 0-0:packets@to(12) 1-1"));
}

TEST_F(FabricRun, PacketsThatAreLostFailTheFirstWrite) {
  fabric_.writes = [](const Write& write) {
    return write.from.ends_with("mlx5_0") ? Fate::Lost : Fate::Arrives;
  };
  EXPECT_THAT(pairs_of(run(2)), ElementsAre("0>1: 0-0:packet@both(12) 1-1"));
}

TEST_F(FabricRun, AWriteWithoutACompletionFailsWithoutAStatus) {
  step_time_ = 200ms;
  fabric_.writes = [](const Write& write) {
    return write.from == "gpu-0/mlx5_1" ? Fate::Silence : Fate::Arrives;
  };
  EXPECT_THAT(pairs_of(run(2)), ElementsAre("0>1: 0-0 1-1:packet@from"));
}

TEST_F(FabricRun, BytesThatChangeOnTheirWayAreSeenByTheReceiver) {
  fabric_.writes = [](const Write& write) {
    return write.from == "gpu-0/mlx5_0" && write.bytes == packets::kAllBytes ? Fate::Spoilt : Fate::Arrives;
  };
  EXPECT_THAT(pairs_of(run(2)), ElementsAre("0>1: 0-0:bytes@to 1-1"));
}

TEST_F(FabricRun, CrossRailsAreEachWithEach) {
  options_.cross_rails = true;
  fabric_.connects = [](const std::string& from, const std::string& to) {
    return from.back() == to.back() ? 0 : ENETUNREACH;
  };
  EXPECT_THAT(pairs_of(run(2)), ElementsAre("0>1: 0-0 0-1:connect@both(101) 1-0:connect@both(101) 1-1"));
}

TEST_F(FabricRun, ManyLinksOfAPairStayWithin128KiB) {
  options_.cross_rails = true;
  lead(2);
  join(0, {}, 4);
  join(1, {}, 4);
  const Proof proof = told();
  EXPECT_THAT(proof.pairs.at(0).links, SizeIs(16));
  std::size_t bytes = 0;
  for (const Write& write : fabric_.written()) bytes += write.bytes;
  EXPECT_EQ(bytes, 16u * 2 * 256);
  EXPECT_THAT(pairs_of(proof), Each(AllOf(HasSubstr("3-3"), ::testing::Not(HasSubstr("bytes")))));
}

TEST_F(FabricRun, AllPairsAreEachWithEach) {
  options_.all_pairs = true;
  EXPECT_THAT(run(5).pairs, SizeIs(10));
}

TEST_F(FabricRun, AMemberThatDiesInTheMiddleIsToldAndTheOthersAreTested) {
  lead(3);
  RawPeer peer(port_);
  peer.send(hello(1));
  join(0, {}, 1);
  join(2, {}, 1);
  EXPECT_THAT(peer.hear(), HasSubstr(R"("rail":0)"));
  peer.close();
  const Proof proof = told();
  EXPECT_THAT(proof.left, ElementsAre(1));
  EXPECT_THAT(pairs_of(proof),
              UnorderedElementsAre("0>1: 0-0:answer@to", "1>2: 0-0:answer@from", "0>2: 0-0"));
  EXPECT_TRUE(proof.ended);
  EXPECT_THAT(errors_, IsEmpty());
}

TEST_F(FabricRun, AMemberThatHangsIsWaitedForOnce) {
  options_.word_time = 300ms;
  lead(2);
  const RawPeer peer(port_);
  peer.send(hello(1));
  join(0, {}, 1);
  const Proof proof = told();
  EXPECT_THAT(proof.left, IsEmpty());
  EXPECT_THAT(pairs_of(proof), ElementsAre("0>1: 0-0:answer@to"));
}

TEST_F(FabricRun, AMemberThatAnswersNonsenseIsSentAway) {
  lead(2);
  const RawPeer peer(port_);
  peer.send(hello(1));
  join(0, {}, 1);
  EXPECT_THAT(peer.hear(), HasSubstr(R"("rail":0)"));
  peer.send("nonsense\n");
  const Proof proof = told();
  EXPECT_THAT(proof.left, ElementsAre(1));
  EXPECT_THAT(pairs_of(proof), ElementsAre("0>1: 0-0:answer@to"));
}

TEST_F(FabricRun, WithoutAllMembersThoseThatCameAreTested) {
  options_.wait = 1s;
  lead(16);
  join(3);
  join(9);
  const Proof proof = told();
  EXPECT_EQ(proof.expected, 16);
  EXPECT_EQ(proof.rounds, 1);
  EXPECT_THAT(pairs_of(proof), ElementsAre("3>9: 0-0 1-1"));
  EXPECT_TRUE(proof.ended);
}

TEST_F(FabricRun, OneMemberAloneIsNoTest) {
  options_.wait = 300ms;
  lead(2);
  join(0);
  const Proof proof = told();
  EXPECT_EQ(proof.rounds, 0);
  EXPECT_THAT(proof.pairs, IsEmpty());
  EXPECT_TRUE(proof.ended);
  EXPECT_THAT(errors_, IsEmpty());
}

TEST_F(FabricRun, WithoutTimeTheJournalHasNoEnd) {
  options_.deadline = std::chrono::steady_clock::now() + 500ms;
  lead(2);
  const RawPeer peer(port_);
  peer.send(hello(1));
  join(0, {}, 1);
  const Proof proof = told();
  EXPECT_FALSE(proof.ended);
  EXPECT_FALSE(led_);
}

TEST_F(FabricRun, OneBadRailOf64NodesStandsAlone) {
  fabric_.connects = [](const std::string& from, const std::string& to) {
    return from == "gpu-7/mlx5_1" || to == "gpu-7/mlx5_1" ? ETIMEDOUT : 0;
  };
  const Proof proof = run(64);
  EXPECT_EQ(proof.rounds_done, 6);
  EXPECT_THAT(proof.pairs, SizeIs(5 * 64 + 32));
  int bad = 0;
  for (const ProofPair& pair : proof.pairs) {
    const bool ours = pair.from == 7 || pair.to == 7;
    bad += ours ? 1 : 0;
    EXPECT_EQ(text_of(pair), ours ? "0-0 1-1:connect@both(110)" : "0-0 1-1");
  }
  EXPECT_EQ(bad, 11);
}

}  // namespace
}  // namespace nccl_env::tests::run_test
