// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/net/file_watch.h"

#include <gtest/gtest.h>

#include <condition_variable>

#include "support/openssl_client.h"
#include "support/temporary_directory.h"

namespace nccl_env::net::file_watch_test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class Changes {
 public:
  void happened() {
    std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  // Waits for one more call than were seen so far.
  bool next() {
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_for(lock, 20s, [&] { return count_ > seen_; });
    seen_ = count_;
    return came;
  }
  int count() {
    std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0, seen_ = 0;
};

TEST(FileWatch, SeesWriteRenameAndRemoval) {
  tests::TemporaryDirectory directory;
  Changes changes;
  FileWatch watch({directory.path()}, [&] { changes.happened(); }, {5ms, 5000ms});
  write_text(directory.path() / "a", "x");
  EXPECT_TRUE(changes.next());
  fs::rename(directory.path() / "a", directory.path() / "b");
  EXPECT_TRUE(changes.next());
  fs::remove(directory.path() / "b");
  EXPECT_TRUE(changes.next());
}

TEST(FileWatch, SeesTheKubeletSwapItsDataLink) {
  tests::TemporaryDirectory directory;
  const auto& path = directory.path();
  for (const char* version : {"..1", "..2"}) {
    fs::create_directory(path / version);
    write_text(path / version / "tls.crt", version);
  }
  fs::create_symlink("..1", path / "..data");
  fs::create_symlink("..data/tls.crt", path / "tls.crt");
  Changes changes;
  FileWatch watch({path}, [&] { changes.happened(); }, {5ms, 5000ms});
  fs::create_symlink("..2", path / "..data_tmp");
  fs::rename(path / "..data_tmp", path / "..data");
  EXPECT_TRUE(changes.next());
}

TEST(FileWatch, ManyEventsAreOneChange) {
  tests::TemporaryDirectory directory;
  Changes changes;
  const auto begin = std::chrono::steady_clock::now();
  {
    FileWatch watch({directory.path()}, [&] { changes.happened(); }, {200ms, 5000ms});
    for (int i = 0; i < 100; ++i) write_text(directory.path() / std::to_string(i), "x");
    EXPECT_TRUE(changes.next());
  }
  // Two where this thread was held up between two writes, more where it was held up again.
  EXPECT_LE(changes.count(), (std::chrono::steady_clock::now() - begin) / 200ms + 1);
}

TEST(FileWatch, ADirectoryThatComesBackIsWatchedAgain) {
  tests::TemporaryDirectory base;
  const auto path = base.path() / "store";
  fs::create_directory(path);
  Changes changes;
  FileWatch watch({path}, [&] { changes.happened(); }, {5ms, 20ms});
  fs::remove_all(path);
  EXPECT_TRUE(changes.next());
  fs::create_directory(path);
  EXPECT_TRUE(changes.next());
  write_text(path / "a", "x");
  EXPECT_TRUE(changes.next());
}

TEST(FileWatch, AMovedDirectoryIsNotFollowed) {
  tests::TemporaryDirectory base;
  fs::create_directory(base.path() / "store");
  fs::create_directory(base.path() / "next");
  Changes changes;
  FileWatch watch({base.path() / "store"}, [&] { changes.happened(); }, {5ms, 5000ms});
  fs::rename(base.path() / "store", base.path() / "old");
  fs::rename(base.path() / "next", base.path() / "store");
  EXPECT_TRUE(changes.next());
  write_text(base.path() / "store" / "a", "x");
  EXPECT_TRUE(changes.next());
}

TEST(FileWatch, AMissingDirectoryIsPolled) {
  tests::TemporaryDirectory base;
  Changes changes;
  FileWatch watch({base.path() / "missing"}, [&] { changes.happened(); }, {1ms, 5ms});
  EXPECT_TRUE(changes.next());
  EXPECT_TRUE(changes.next());
}

TEST(FileWatch, TheSetCanBeReplacedFromTheCallback) {
  tests::TemporaryDirectory first, second;
  Changes changes;
  FileWatch* self = nullptr;
  std::mutex mutex;
  bool replaced = false;
  FileWatch watch({first.path()},
                  [&] {
                    {
                      std::lock_guard lock(mutex);
                      if (!replaced) self->set_directories({second.path()});
                      replaced = true;
                    }
                    changes.happened();
                  },
                  {5ms, 5000ms});
  {
    std::lock_guard lock(mutex);
    self = &watch;
  }
  write_text(first.path() / "a", "x");
  EXPECT_TRUE(changes.next());
  while (changes.count() < 2) ASSERT_TRUE(changes.next());  // the call after the replacement
  write_text(second.path() / "a", "x");
  EXPECT_TRUE(changes.next());
}

TEST(FileWatch, StopsPromptlyWhileWaiting) {
  tests::TemporaryDirectory directory;
  const auto begin = std::chrono::steady_clock::now();
  {
    FileWatch watch({directory.path()}, [] {}, {50ms, 60000ms});
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

}  // namespace
}  // namespace nccl_env::net::file_watch_test
