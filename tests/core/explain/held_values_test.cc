// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/held_values.h"

#include <gmock/gmock.h>

#include "core/builders.h"

namespace nccl_env::held_values_test {
namespace {

using namespace nccl_env::tests;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

HeldValues offered(const NcclPolicy& policy, const NodeFabric* table, Timestamp now = kNow) {
  NodeContext context{now};
  context.in_sync = false;
  return offered_values(std::make_shared<const NcclPolicy>(policy), "node-a", table, context);
}

std::string text(const Change& change) {
  std::string places;
  for (const std::string& place : change.places) places += (places.empty() ? "" : ",") + place;
  return places + " " + change.now.name + " " + change.then.value_or("-") + " " +
         change.now.value.value_or("-") + " " +
         std::string(change.now.reason ? to_string(*change.now.reason) : "");
}

std::vector<std::string> changes(const HeldValues& then, const HeldValues& now) {
  std::vector<std::string> texts;
  for (const Change& change : changes_between(then, now)) texts.push_back(text(change));
  return texts;
}

TEST(OfferedValues, APolicyAndItsCopyOfferTheSame) {
  const NodeFabric table = rails(4);
  const NcclPolicy policy = policy_for("rdma/hca");
  EXPECT_THAT(changes(offered(policy, &table), offered(policy, &table)), IsEmpty());
}

TEST(OfferedValues, AConstantIsOfEveryExposure) {
  const NodeFabric table = rails(2);
  NcclPolicy then = policy_for("rdma/hca"), now = then;
  then.env = {{"NCCL_IB_TC", "106"}, {"NCCL_IB_TIMEOUT", "20"}};
  now.env = {{"NCCL_IB_TIMEOUT", "22"}};
  EXPECT_THAT(changes(offered(then, &table), offered(now, &table)),
              ElementsAre("Host,PodOwned,SubInterface NCCL_IB_TC 106 - OmittedByPolicy",
                          "Host,PodOwned,SubInterface NCCL_IB_TIMEOUT 20 22 "));
}

TEST(OfferedValues, AListReachesPodsThatShareTheDevices) {
  const NodeFabric table = rails(2);
  NcclPolicy then = policy_for("rdma/hca"), now = then;
  now.fabric.hcas = {"mlx5_1"};
  EXPECT_THAT(changes(offered(then, &table), offered(now, &table)),
              ElementsAre("Host,SubInterface NCCL_IB_HCA =mlx5_1,mlx5_2 =mlx5_1 "));
}

TEST(OfferedValues, DenyIsTold) {
  NodeFabric table = rails(2);
  NcclPolicy then = policy_for("rdma/hca");
  then.fabric.expect_ports = 4;
  NcclPolicy now = then;
  now.on_unresolved = OnUnresolved::Deny;
  EXPECT_THAT(changes(offered(then, &table), offered(now, &table)),
              ElementsAre("Host,SubInterface Binding allowed refused TooFewPorts"));
}

TEST(OfferedValues, DryRunOffersNothing) {
  const NodeFabric table = rails(1);
  NcclPolicy then = policy_for("rdma/hca"), now = then;
  now.mode = PolicyMode::DryRun;
  EXPECT_THAT(
      changes(offered(then, &table), offered(now, &table)),
      ElementsAre("Host,PodOwned,SubInterface Binding allowed - DryRun", "Host NCCL_IB_GID_INDEX 3 - DryRun",
                  "Host,SubInterface NCCL_IB_HCA =mlx5_1 - DryRun"));
}

TEST(OfferedValues, FollowAPortThatGoesAndComesBack) {
  const NcclPolicy policy = policy_for("rdma/hca");
  const NodeFabric up = rails(2);
  NodeFabric down = up;
  down.ports[1].state = PortState::Down;
  down.ports[1].state_since = kNow;
  const HeldValues before = offered(policy, &up);
  EXPECT_THAT(changes(before, offered(policy, &down, kNow + std::chrono::minutes(1))), IsEmpty());
  const std::chrono::hours long_after(2);
  EXPECT_THAT(changes(before, offered(policy, &down, kNow + long_after)),
              ElementsAre("Host,SubInterface NCCL_IB_HCA =mlx5_1,mlx5_2 =mlx5_1 "));
  NodeFabric back = up;
  back.ports[1].state_since = kNow + long_after;
  EXPECT_THAT(changes(before, offered(policy, &back, kNow + long_after)), IsEmpty());
  down.ports[0] = down.ports[1];
  down.ports[0].hca = "mlx5_1";
  EXPECT_THAT(changes(before, offered(policy, &down, kNow + long_after)),
              ElementsAre("Host NCCL_IB_GID_INDEX 3 - NoFabricPort",
                          "Host,SubInterface NCCL_IB_HCA =mlx5_1,mlx5_2 - NoFabricPort"));
}

TEST(OfferedValues, ANodeWithoutATableOffersConstants) {
  NcclPolicy policy = policy_for("rdma/hca");
  policy.env = {{"NCCL_IB_TIMEOUT", "20"}};
  const NodeFabric table = rails(1);
  EXPECT_THAT(
      changes(offered(policy, &table), offered(policy, nullptr)),
      ElementsAre("Host NCCL_IB_GID_INDEX 3 - NoTable", "Host,SubInterface NCCL_IB_HCA =mlx5_1 - NoTable"));
}

TEST(ExplainedValues, APodThatIsNotInjectedHasNoneForItsReason) {
  Explanation then;
  then.inject = true;
  then.containers = {{"main", {{"NCCL_IB_TIMEOUT", "20", Source::Policy}}, {}, {}, {}}};
  Explanation now = then;
  EXPECT_THAT(changes(given_values(then), given_values(now)), IsEmpty());
  now.inject = false;
  now.reason = Reason::NotRdma;
  EXPECT_THAT(changes(given_values(then), given_values(now)),
              ElementsAre("main NCCL_IB_TIMEOUT 20 - NotRdma"));
  now.reason = Reason::DryRun;  // and the containers hold what it would set
  EXPECT_THAT(changes(given_values(then), given_values(now)),
              ElementsAre("main NCCL_IB_TIMEOUT 20 - DryRun"));
}

TEST(ExplainedValues, ALineOfTheFileIsTheContainersUnlessItsEnvBeatsIt) {
  const Value index{"NCCL_IB_GID_INDEX", "3", Source::Node};
  Explanation env, file, users;
  env.inject = file.inject = users.inject = true;
  env.containers = {{"main", {index}, {}, {}, {}}};
  file.containers = {{"main", {}, std::vector<Value>{index}, {}, {}}};
  users.containers = {
      {"main", {}, std::vector<Value>{index}, {left_out("NCCL_IB_GID_INDEX", Reason::UserSet)}, {}}};
  EXPECT_THAT(changes(given_values(env), given_values(file)), IsEmpty());
  EXPECT_THAT(changes(given_values(file), given_values(users)),
              ElementsAre("main NCCL_IB_GID_INDEX 3 - UserSet"));
}

}  // namespace
}  // namespace nccl_env::held_values_test
