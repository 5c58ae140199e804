// SPDX-License-Identifier: Apache-2.0
#include "repeating.h"

#include <gtest/gtest.h>

#include <atomic>

namespace nccl_env::webhook::repeating_test {
namespace {

using namespace std::chrono_literals;

bool reaches(const std::atomic<int>& count, int wanted) {
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (count < wanted && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return count >= wanted;
}

TEST(Repeating, CallsAtOnceAndThenAfterThePauseThatItWasTold) {
  std::atomic<int> calls{0};
  const Repeating repeating([&] { return ++calls < 3 ? 1ms : 1h; });
  EXPECT_TRUE(reaches(calls, 3));
}

TEST(Repeating, ComesAtOnceWhenWoken) {
  std::atomic<int> calls{0};
  Repeating repeating([&] {
    ++calls;
    return 1h;
  });
  for (int i = 1; i < 100; ++i) {
    ASSERT_TRUE(reaches(calls, i));
    repeating.wake();
  }
}

TEST(Repeating, AWakeDuringACallIsNotLost) {
  std::atomic<int> calls{0};
  std::atomic<bool> go_on{false};
  Repeating repeating([&] {
    ++calls;
    while (!go_on) std::this_thread::yield();
    return 1h;
  });
  ASSERT_TRUE(reaches(calls, 1));
  repeating.wake();
  go_on = true;
  EXPECT_TRUE(reaches(calls, 2));
}

TEST(Pace, StaysNearTheUsualAndBacksOffAfterFailures) {
  Pace pace(30s);
  const auto near = [](std::chrono::milliseconds pause, std::chrono::milliseconds wanted) {
    return pause >= wanted * 80 / 100 && pause <= wanted * 120 / 100;
  };
  EXPECT_TRUE(near(pace.after(true), 30s));
  for (const auto wanted : {1s, 2s, 4s, 8s, 16s, 30s, 30s}) EXPECT_TRUE(near(pace.after(false), wanted));
  EXPECT_TRUE(near(pace.after(true), 30s));
  EXPECT_TRUE(near(pace.after(false), 1s));
  for (int i = 0; i < 1000; ++i) pace.after(false);
  EXPECT_TRUE(near(pace.after(false), 30s)) << "however long it has failed";
}

}  // namespace
}  // namespace nccl_env::webhook::repeating_test
