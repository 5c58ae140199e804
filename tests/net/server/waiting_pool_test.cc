// SPDX-License-Identifier: Apache-2.0
#include "server/waiting_pool.h"

#include <gmock/gmock.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace nccl_env::net::waiting_pool_test {
namespace {

using ::testing::ElementsAre;
using Asker = WaitingPool::Asker;

Asker from(const char* address) {
  return {boost::asio::ip::make_address(address)};
}

// One thread that a first job holds, so that the queue is what the test makes it.
class WaitingPoolTest : public ::testing::Test {
 protected:
  void make(std::size_t queue) {
    pool = std::make_unique<WaitingPool>(1, queue, [] {});
    Asker first = from("10.9.9.9");
    std::promise<void> runs;
    pool->submit(first, [this, &runs](std::optional<int>) {
      runs.set_value();
      gate.get_future().wait();
    });
    runs.get_future().wait();
  }
  void ask(Asker& asker, const std::string& name) {
    pool->submit(asker, [this, name](std::optional<int> thread) {
      const std::lock_guard lock(mutex);
      (thread ? ran : dropped).push_back(name);
      changed.notify_all();
    });
  }
  // Lets the queue run; so many jobs are left in it.
  void finish(std::size_t left) {
    gate.set_value();
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::seconds(20), [&] { return ran.size() >= left; });
    lock.unlock();
    pool->stop();
  }

  std::mutex mutex;  // of the two lists
  std::condition_variable changed;
  std::vector<std::string> ran, dropped;
  std::unique_ptr<WaitingPool> pool;
  std::promise<void> gate;
};

TEST_F(WaitingPoolTest, PeersHaveTheirTurnsOneAfterTheOther) {
  make(16);
  Asker a1 = from("10.0.0.1"), a2 = a1, a3 = a1, b = from("10.0.0.2"), c = from("fd00::1");
  ask(a1, "a1");
  ask(a2, "a2");
  ask(a3, "a3");
  ask(b, "b");
  ask(c, "c");
  finish(5);
  EXPECT_THAT(ran, ElementsAre("a1", "b", "c", "a2", "a3"));
  EXPECT_TRUE(dropped.empty());
}

TEST_F(WaitingPoolTest, WithoutRoomThePeerThatHasMostInTheQueueLosesOne) {
  make(3);
  Asker a1 = from("10.0.0.1"), a2 = a1, a3 = a1, b = from("10.0.0.2");
  ask(a1, "a1");
  ask(a2, "a2");
  ask(a3, "a3");
  ask(b, "b");
  EXPECT_THAT(dropped, ElementsAre("a3"));
  finish(3);
  EXPECT_THAT(ran, ElementsAre("a1", "b", "a2"));
}

TEST_F(WaitingPoolTest, AmongPeersWithOneEachTheOneThatAskedBeforeLoses) {
  make(2);
  Asker a1 = from("10.0.0.1"), a2 = a1, b = from("10.0.0.2"), good = from("10.0.0.3");
  ask(a1, "a1");
  ask(a2, "a2");
  ask(b, "b");
  EXPECT_THAT(dropped, ElementsAre("a2"));
  ask(good, "good");
  EXPECT_THAT(dropped, ElementsAre("a2", "a1"));
  for (int i = 0; i < 100; ++i) ask(a1, "a1");  // it comes again and again
  EXPECT_THAT(dropped, ::testing::Not(::testing::Contains("good")));
  EXPECT_EQ(dropped.size(), 102u);
  finish(2);
  EXPECT_THAT(ran, ElementsAre("b", "good"));
}

TEST_F(WaitingPoolTest, BehindOneAddressTheConnectionThatAskedBeforeLoses) {
  make(2);
  Asker flood = from("10.0.0.1"), good = flood;
  ask(flood, "first");
  ask(flood, "second");
  ask(good, "good");
  EXPECT_THAT(dropped, ElementsAre("second"));
  for (int i = 0; i < 100; ++i) ask(flood, "more");
  EXPECT_EQ(dropped.size(), 101u);
  finish(2);
  EXPECT_THAT(ran, ElementsAre("first", "good"));
}

TEST_F(WaitingPoolTest, StopTellsWhatDidNotBegin) {
  make(16);
  Asker a = from("10.0.0.1"), b = from("10.0.0.2");
  ask(a, "a");
  ask(b, "b");
  std::thread stopping([&] { pool->stop(); });
  gate.set_value();
  stopping.join();
  EXPECT_EQ(ran.size() + dropped.size(), 2u);
  ask(a, "late");
  EXPECT_EQ(dropped.back(), "late");
}

}  // namespace
}  // namespace nccl_env::net::waiting_pool_test
