// SPDX-License-Identifier: Apache-2.0
#include "sync_state.h"

#include <gtest/gtest.h>

namespace nccl_env::store::sync_state_test {
namespace {

using namespace std::chrono_literals;

TEST(SyncState, AReconnectionIsNoOutage) {
  SyncState state;
  SyncState::Time now{1h};
  EXPECT_TRUE(state.update(true, now));
  EXPECT_TRUE(state.update(false, now += 1s));
  EXPECT_TRUE(state.update(false, now += 29s));
  EXPECT_TRUE(state.update(true, now += 1s));
  EXPECT_TRUE(state.update(false, now += 1s));
  EXPECT_TRUE(state.update(false, now += 29s));
}

TEST(SyncState, AfterAnOutageAgesCountOnceAgentsHadTheirTime) {
  SyncState state;
  SyncState::Time now{1h};
  EXPECT_TRUE(state.update(false, now));
  EXPECT_FALSE(state.update(false, now += 30s));
  EXPECT_FALSE(state.update(true, now += 1h));
  EXPECT_FALSE(state.update(true, now += 299s));
  EXPECT_TRUE(state.update(true, now += 1s));
  EXPECT_TRUE(state.update(false, now += 1s));
}

TEST(SyncState, ASecondOutageBeginsTheWaitAnew) {
  SyncState state;
  SyncState::Time now{1h};
  state.update(false, now);
  EXPECT_FALSE(state.update(false, now += 30s));
  EXPECT_FALSE(state.update(true, now += 1s));
  EXPECT_FALSE(state.update(false, now += 290s));
  EXPECT_FALSE(state.update(true, now += 1s));
  EXPECT_FALSE(state.update(true, now += 299s));
  EXPECT_TRUE(state.update(true, now += 1s));
}

TEST(Lag, AWatchThatIsAwayForTwoSecondsMayHaveMissedChanges) {
  Lag lag;
  Lag::Time now{1h};
  EXPECT_TRUE(lag.update(true, now));
  EXPECT_TRUE(lag.update(false, now += 1h));
  EXPECT_TRUE(lag.update(false, now += 1999ms));
  EXPECT_TRUE(lag.update(true, now += 1s));
  EXPECT_TRUE(lag.update(false, now += 1s));
  EXPECT_FALSE(lag.update(false, now += 2s));
  EXPECT_TRUE(lag.update(true, now));
}

}  // namespace
}  // namespace nccl_env::store::sync_state_test
