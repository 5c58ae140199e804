// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/store/published.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace nccl_env::store::published_test {
namespace {

TEST(Published, AReaderSeesTheNewestAndKeepsWhatItHolds) {
  Published<int> published(std::make_shared<const int>(1));
  Published<int>::Reader reader(published);
  const std::shared_ptr<const int> held = reader.newest();
  EXPECT_EQ(*held, 1);
  published.publish(std::make_shared<const int>(2));
  EXPECT_EQ(*reader.newest(), 2);
  EXPECT_EQ(*published.get(), 2);
  EXPECT_EQ(*held, 1);
}

TEST(Published, AReaderLetsAnOldValueGoOnceItHasSeenTheNewOne) {
  auto first = std::make_shared<const int>(1);
  const std::weak_ptr<const int> alive = first;
  Published<int> published(std::move(first));
  Published<int>::Reader reader(published);
  reader.newest();
  published.publish(std::make_shared<const int>(2));
  EXPECT_FALSE(alive.expired());
  reader.newest();
  EXPECT_TRUE(alive.expired());
}

TEST(Published, ReadersOnOtherThreadsNeverGoBackAndSeeTheLast) {
  constexpr int kLast = 2000;
  Published<int> published(std::make_shared<const int>(0));
  std::vector<std::thread> readers;
  std::vector<int> wrong(3, 0);
  for (int& problems : wrong) {
    readers.emplace_back([&published, &problems] {
      Published<int>::Reader reader(published);
      for (int last = 0; last < kLast;) {
        const int now = *reader.newest();
        if (now < last) ++problems;
        last = now;
      }
    });
  }
  for (int i = 1; i <= kLast; ++i) published.publish(std::make_shared<const int>(i));
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, std::vector<int>(3, 0));
}

}  // namespace
}  // namespace nccl_env::store::published_test
