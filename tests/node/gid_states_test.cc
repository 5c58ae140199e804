// SPDX-License-Identifier: Apache-2.0
// The GID index over the life of a node: addresses drift to other rows, vanish, come back, at boot in any
// order. The table is what an agent writes, with the history that it has; a model beside it knows where each
// address has been.
#include <gtest/gtest.h>

#include <random>

#include "core/builders.h"
#include "nccl_env/core/choose/gid_index.h"
#include "nccl_env/node/port_history.h"

namespace nccl_env::node::gid_states_test {
namespace {

using namespace nccl_env::tests;

constexpr int kRails = 4;

// One rail as the kernel has it, and when its address was last seen to move since the node booted.
struct Rail {
  std::optional<int> index;  // of the RoCE v2 row; none: the address is gone
  std::optional<int> last;   // where it was last seen
  std::optional<Timestamp> moved;
};

class Life {
 public:
  explicit Life(unsigned seed) : random_(seed) {
    for (Rail& rail : rails_) rail.index = 3;
  }

  void step() {
    time_ += std::chrono::minutes(one_of({1, 10, 60, 600, 1500}));
    if (one_of({0, 1, 2, 3}) == 0) {  // a new address on every netdev moves all of them alike
      const int index = one_of({3, 5, 7});
      for (Rail& rail : rails_) rail.index = index;
    }
    for (Rail& rail : rails_) {
      const int event = one_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
      if (event == 0) rail.index = one_of({3, 5, 7});
      if (event == 1) rail.index.reset();
      if (event > 7) rail.index = rail.last.value_or(3);
    }
    const int event = one_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    if (event == 0) boot();
    if (event == 1) restart_agent();
  }

  const NodeFabric& look() {
    table_ = rails(kRails);
    table_.boot_id = boot_id_;
    for (std::size_t i = 0; i < rails_.size(); ++i) {
      Rail& rail = rails_[i];
      std::vector<GidRow>& rows = *table_.ports[i].gids;
      const GidRow address = rows.back();
      rows.resize(2);
      if (!rail.index) continue;
      rows.push_back(row(*rail.index, address.gid, GidType::RoCEv2, *address.netdev));
      if (rail.last && rail.last != rail.index) rail.moved = time_;
      rail.last = rail.index;
    }
    history_.note(table_, time_);
    return table_;
  }

  // Right on every port, and still for a day on every one.
  [[nodiscard]] std::optional<int> expected() const {
    for (const Rail& rail : rails_) {
      if (!rail.index || rail.index != rails_[0].index) return std::nullopt;
      if (rail.moved && time_ < *rail.moved + std::chrono::hours(24)) return std::nullopt;
    }
    return rails_[0].index;
  }
  [[nodiscard]] bool unsettled() const {
    return std::any_of(rails_.begin(), rails_.end(), [&](const Rail& rail) {
      return rail.index && rail.moved && time_ < *rail.moved + std::chrono::hours(24);
    });
  }
  [[nodiscard]] Timestamp time() const { return time_; }
  void wait(std::chrono::hours hours) { time_ += hours; }
  void heal() {
    for (Rail& rail : rails_) rail.index = 3;
  }

 private:
  int one_of(std::vector<int> values) { return values[random_() % values.size()]; }
  void boot() {
    boot_id_ = "boot-" + std::to_string(++boots_);
    history_ = PortHistory();
    for (Rail& rail : rails_)
      rail = {one_of({0, 1}) == 0 ? std::nullopt : std::optional(one_of({3, 5})), {}, {}};
  }
  void restart_agent() {
    history_ = PortHistory();
    history_.resume(table_, boot_id_);
  }

  std::mt19937 random_;
  std::array<Rail, kRails> rails_;
  PortHistory history_;
  NodeFabric table_;
  std::string boot_id_ = "boot-0";
  int boots_ = 0;
  Timestamp time_ = kNow;
};

GidChoice choose(const Life& life, const NodeFabric& table, const NcclPolicy& policy) {
  std::vector<const Port*> ports;
  for (const Port& port : table.ports) ports.push_back(&port);
  return choose_gid(table, ports, policy, Exposure::Host, life.time());
}

TEST(GidStates, OnlyAnIndexThatIsRightAndStillIsPinned) {
  const NcclPolicy policy = policy_for("rdma/*");
  NcclPolicy searched = policy;
  searched.gid_index.kind = GidIndexRule::Kind::Auto;
  int pinned = 0;
  int unstable = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    Life life(seed);
    life.look();
    for (int step = 0; step < 30; ++step) {
      life.step();
      const NodeFabric& table = life.look();
      const GidChoice choice = choose(life, table, policy);
      ASSERT_EQ(choice.index, life.expected()) << "life " << seed << " step " << step;
      ASSERT_EQ(choice.index.has_value(), !choice.reason.has_value());
      if (choice.reason == Reason::GidUnstable) {
        ++unstable;
        ASSERT_TRUE(life.unsettled()) << "life " << seed << " step " << step;
        ASSERT_GT(choice.valid_until, life.time());
      }
      pinned += choice.index ? 1 : 0;
      // A row that NCCL finds itself cannot drift away under a pod.
      ASSERT_FALSE(choose(life, table, searched).index) << "life " << seed << " step " << step;
    }
    life.heal();
    life.look();
    life.wait(std::chrono::hours(24));
    EXPECT_EQ(choose(life, life.look(), policy).index, 3) << "life " << seed;
  }
  EXPECT_GT(pinned, 75);
  EXPECT_GT(unstable, 75);
}

}  // namespace
}  // namespace nccl_env::node::gid_states_test
