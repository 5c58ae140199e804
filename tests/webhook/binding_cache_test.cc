// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/webhook/binding_cache.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "nccl_env/core/decide/binding.h"

namespace nccl_env::webhook::binding_cache_test {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr Timestamp kObserved{seconds(1'800'000'000)};

std::shared_ptr<const NcclPolicy> make_policy(const std::string& interface) {
  auto policy = std::make_shared<NcclPolicy>();
  policy->name = "p";
  policy->socket_interface = {SocketInterfaceRule::Kind::Literal, interface};
  return policy;
}

SharedTable make_table(const std::string& hca) {
  NodeFabric table;
  table.name = "n";
  table.time = kObserved;
  Port port;
  port.hca = hca;
  port.link_layer = LinkLayer::InfiniBand;
  port.state = PortState::Active;
  table.ports.push_back(port);
  return pack(table);
}

NodeContext at(Timestamp now) {
  return {now, hours(3), true};
}

class BindingCacheTest : public ::testing::Test {
 protected:
  // The words of the plans, which must be those of plan_binding.
  std::map<std::string, std::string, std::less<>> annotations(const NodeContext& context) {
    const BindingPlan& plan = plans_.find(policy_, "n", table_, context);
    const NodeFabric fabric = table_ ? table_->unpack() : NodeFabric();
    EXPECT_EQ(plan.annotations, plan_binding(policy_, "n", table_ ? &fabric : nullptr, context).annotations);
    return plan.annotations;
  }

  BindingCache plans_;
  std::shared_ptr<const NcclPolicy> policy_ = make_policy("eth0");
  SharedTable table_ = make_table("mlx5_0");
};

TEST_F(BindingCacheTest, KeepsAPlan) {
  const BindingPlan* first = &plans_.find(policy_, "n", table_, at(kObserved));
  const char* text = first->annotations.begin()->second.data();
  const BindingPlan* again = &plans_.find(policy_, "n", table_, at(kObserved + seconds(1)));
  EXPECT_EQ(again, first);
  EXPECT_EQ(again->annotations.begin()->second.data(), text);
}

TEST_F(BindingCacheTest, FollowsThePolicyAndTheTable) {
  const auto first = annotations(at(kObserved));
  policy_ = make_policy("eth1");
  const auto second = annotations(at(kObserved));
  EXPECT_NE(second, first);
  table_ = make_table("mlx5_7");
  const auto third = annotations(at(kObserved));
  EXPECT_NE(third, second);
  table_ = nullptr;
  EXPECT_NE(annotations(at(kObserved)), third);
}

TEST_F(BindingCacheTest, FollowsTheClockBothWays) {
  const auto fresh = annotations(at(kObserved));
  EXPECT_NE(annotations(at(kObserved + hours(4))), fresh);
  EXPECT_EQ(annotations(at(kObserved)), fresh);
}

TEST_F(BindingCacheTest, AgesDoNotCountWhileOutOfSync) {
  const NodeContext late = at(kObserved + hours(4));
  const auto stale = annotations(late);
  NodeContext out_of_sync = late;
  out_of_sync.in_sync = false;
  EXPECT_NE(annotations(out_of_sync), stale);
  EXPECT_EQ(annotations(late), stale);
}

TEST_F(BindingCacheTest, FollowsTheNodesBoot) {
  const auto known = annotations(at(kObserved));
  NodeContext other = at(kObserved);
  other.other_boot = true;
  EXPECT_NE(annotations(other), known);
  EXPECT_EQ(annotations(at(kObserved)), known);
}

TEST_F(BindingCacheTest, APodOfOtherValuesHasAPlanOfItsOwn) {
  NodeContext changed = at(kObserved);
  changed.policy_changed = true;
  const BindingPlan* known = &plans_.find(policy_, "n", table_, at(kObserved));
  const char* text = known->annotations.begin()->second.data();
  EXPECT_NE(plans_.find(policy_, "n", table_, changed).annotations.begin()->second.data(), text);
}

TEST_F(BindingCacheTest, ForgetsInsteadOfGrowingWithoutEnd) {
  for (int i = 0; i < 5000; ++i) (void)plans_.find(policy_, "n" + std::to_string(i), nullptr, at(kObserved));
  EXPECT_LE(plans_.size(), 1024u);
}

TEST_F(BindingCacheTest, IsBoundedInBytesToo) {
  auto large = std::make_shared<NcclPolicy>(*policy_);
  for (int i = 0; i < 30; ++i) large->env["UCX_X" + std::to_string(i)] = std::string(1000, 'x');
  std::size_t most = 0;
  for (int i = 0; i < 500; ++i) {
    (void)plans_.find(large, "n" + std::to_string(i), nullptr, at(kObserved));
    most = std::max(most, plans_.bytes());
  }
  EXPECT_LE(most, kMaxBindingBytes);
  EXPECT_GT(most, kMaxBindingBytes * 7 / 8);
  // The same nodes anew: what they had does not count any more.
  for (int i = 0; i < 500; ++i) (void)plans_.find(policy_, "m", nullptr, at(kObserved + seconds(i)));
  EXPECT_LE(plans_.bytes(), kMaxBindingBytes);
}

}  // namespace
}  // namespace nccl_env::webhook::binding_cache_test
