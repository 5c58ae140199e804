// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/net/file_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <fstream>

#include "support/openssl_client.h"
#include "support/temporary_directory.h"

namespace nccl_env::net::file_watch_test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class Changes {
 public:
  void happened(const ChangedNames& names = {}) {
    ++begun;
    std::lock_guard lock(mutex_);
    ++count_;
    names_ = names;
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

  ChangedNames names() {
    std::lock_guard lock(mutex_);
    return names_;
  }
  std::atomic<int> begun = 0;  // calls of happened()
  // They wait as long as it is held.
  std::unique_lock<std::mutex> hold() { return std::unique_lock(mutex_); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0, seen_ = 0;
  ChangedNames names_;
};

class FileWatchTest : public ::testing::Test {
 protected:
  const tests::TemporaryDirectory directory;
  const fs::path path = directory.path();
  Changes changes;
};

TEST_F(FileWatchTest, SeesWriteRenameAndRemoval) {
  FileWatch watch({path}, [&](const auto&) { changes.happened(); }, {5ms, 5000ms});
  write_text(path / "a", "x");
  EXPECT_TRUE(changes.next());
  fs::rename(path / "a", path / "b");
  EXPECT_TRUE(changes.next());
  fs::remove(path / "b");
  EXPECT_TRUE(changes.next());
}

TEST_F(FileWatchTest, SeesTheKubeletSwapItsDataLink) {
  for (const char* version : {"..1", "..2"}) {
    fs::create_directory(path / version);
    write_text(path / version / "tls.crt", version);
  }
  fs::create_symlink("..1", path / "..data");
  fs::create_symlink("..data/tls.crt", path / "tls.crt");
  FileWatch watch({path}, [&](const auto&) { changes.happened(); }, {5ms, 5000ms});
  fs::create_symlink("..2", path / "..data_tmp");
  fs::rename(path / "..data_tmp", path / "..data");
  EXPECT_TRUE(changes.next());
}

TEST_F(FileWatchTest, ManyEventsAreOneChange) {
  const auto begin = std::chrono::steady_clock::now();
  {
    FileWatch watch({path}, [&](const auto&) { changes.happened(); }, {200ms, 5000ms});
    for (int i = 0; i < 100; ++i) write_text(path / std::to_string(i), "x");
    EXPECT_TRUE(changes.next());
  }
  // Two where this thread was held up between two writes, more where it was held up again.
  EXPECT_LE(changes.count(), (std::chrono::steady_clock::now() - begin) / 200ms + 1);
}

using Names = std::set<std::string>;

TEST_F(FileWatchTest, NamesWhatHadAnEvent) {
  FileWatch watch({path}, [&](const auto& names) { changes.happened(names); }, {100ms, 5000ms});
  write_text(path / "first", "x");
  EXPECT_TRUE(changes.next());
  EXPECT_EQ(changes.names(), std::nullopt) << "it may have changed before it was watched";
  write_text(path / "a", "x");
  EXPECT_TRUE(changes.next());
  EXPECT_EQ(changes.names(), Names{"a"});
  fs::rename(path / "a", path / "b");
  EXPECT_TRUE(changes.next());
  EXPECT_EQ(changes.names(), (Names{"a", "b"}));
  fs::remove(path / "b");
  EXPECT_TRUE(changes.next());
  EXPECT_EQ(changes.names(), Names{"b"});
  fs::remove_all(path);
  EXPECT_TRUE(changes.next());
  EXPECT_EQ(changes.names(), std::nullopt) << "the directory went";
}

TEST_F(FileWatchTest, EventsThatTheKernelDroppedMayHaveBeenOfAnyName) {
  std::ifstream limit("/proc/sys/fs/inotify/max_queued_events");
  int most = 0;
  ASSERT_TRUE(limit >> most);
  FileWatch watch({path}, [&](const auto& names) { changes.happened(names); }, {5ms, 5000ms});
  for (const char* name : {"first", "a"}) {
    write_text(path / name, "x");
    ASSERT_TRUE(changes.next());
  }
  ASSERT_EQ(changes.names(), Names{"a"});
  {
    const auto held = changes.hold();
    write_text(path / "a", "x");
    while (changes.begun < 3) std::this_thread::yield();  // from then on nobody takes events
    for (int i = 0; i < most + 16; ++i)                   // two alike in turn would be one
      fs::permissions(path / (i % 2 != 0 ? "a" : "first"), fs::perms::owner_all);
  }
  EXPECT_TRUE(changes.next());
  while (changes.names()) ASSERT_TRUE(changes.next());
}

TEST_F(FileWatchTest, ADirectoryThatComesBackIsWatchedAgain) {
  const auto store = path / "store";
  fs::create_directory(store);
  FileWatch watch({store}, [&](const auto&) { changes.happened(); }, {5ms, 20ms});
  fs::remove_all(store);
  EXPECT_TRUE(changes.next());
  fs::create_directory(store);
  EXPECT_TRUE(changes.next());
  write_text(store / "a", "x");
  EXPECT_TRUE(changes.next());
}

TEST_F(FileWatchTest, AMovedDirectoryIsNotFollowed) {
  fs::create_directory(path / "store");
  fs::create_directory(path / "next");
  FileWatch watch({path / "store"}, [&](const auto&) { changes.happened(); }, {5ms, 5000ms});
  fs::rename(path / "store", path / "old");
  fs::rename(path / "next", path / "store");
  EXPECT_TRUE(changes.next());
  write_text(path / "store" / "a", "x");
  EXPECT_TRUE(changes.next());
}

TEST_F(FileWatchTest, AMissingDirectoryIsPolled) {
  FileWatch watch({path / "missing"}, [&](const auto&) { changes.happened(); }, {1ms, 5ms});
  EXPECT_TRUE(changes.next());
  EXPECT_TRUE(changes.next());
}

TEST_F(FileWatchTest, TheSetCanBeReplacedFromTheCallback) {
  const tests::TemporaryDirectory second;
  FileWatch* self = nullptr;
  std::mutex mutex;
  bool replaced = false;
  FileWatch watch({path},
                  [&](const auto&) {
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
  write_text(path / "a", "x");
  EXPECT_TRUE(changes.next());
  while (changes.count() < 2) ASSERT_TRUE(changes.next());  // the call after the replacement
  write_text(second.path() / "a", "x");
  EXPECT_TRUE(changes.next());
}

TEST_F(FileWatchTest, StopsPromptlyWhileWaiting) {
  const auto begin = std::chrono::steady_clock::now();
  {
    FileWatch watch({path}, [](const auto&) {}, {50ms, 60000ms});
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

}  // namespace
}  // namespace nccl_env::net::file_watch_test
