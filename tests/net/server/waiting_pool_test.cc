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

using boost::asio::ip::make_address;
using ::testing::ElementsAre;

// One thread that a first job holds, so that the queue is what the test makes it.
class WaitingPoolTest : public ::testing::Test {
 protected:
  void make(std::size_t queue) {
    pool = std::make_unique<WaitingPool>(1, queue, [] {});
    std::promise<void> runs;
    pool->submit(make_address("10.9.9.9"), [this, &runs](std::optional<int>) {
      runs.set_value();
      gate.get_future().wait();
    });
    runs.get_future().wait();
  }
  void ask(const char* address, const std::string& name) {
    pool->submit(make_address(address), [this, name](std::optional<int> thread) {
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

TEST_F(WaitingPoolTest, JobsRunInTheirOrder) {
  make(16);
  for (const char* name : {"one", "two", "three"}) ask("10.0.0.1", name);
  finish(3);
  EXPECT_THAT(ran, ElementsAre("one", "two", "three"));
  EXPECT_TRUE(dropped.empty());
}

TEST_F(WaitingPoolTest, WithoutRoomTheAddressThatHasMostInTheQueueLosesItsLast) {
  make(3);
  ask("10.0.0.1", "a1");
  ask("10.0.0.1", "a2");
  ask("fd00::1", "b1");
  ask("10.0.0.1", "a3");
  EXPECT_THAT(dropped, ElementsAre("a3"));
  ask("10.0.0.2", "c1");
  EXPECT_THAT(dropped, ElementsAre("a3", "a2"));
  ask("10.0.0.3", "d1");
  EXPECT_EQ(dropped.back(), "d1") << "among equals the one that asked last";
  finish(3);
  EXPECT_THAT(ran, ElementsAre("a1", "b1", "c1"));
}

TEST_F(WaitingPoolTest, StopTellsWhatDidNotBegin) {
  make(16);
  ask("10.0.0.1", "a");
  ask("10.0.0.2", "b");
  std::thread stopping([&] { pool->stop(); });
  gate.set_value();
  stopping.join();
  EXPECT_EQ(ran.size() + dropped.size(), 2u);
  ask("10.0.0.1", "late");
  EXPECT_EQ(dropped.back(), "late");
}

}  // namespace
}  // namespace nccl_env::net::waiting_pool_test
