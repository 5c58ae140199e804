// SPDX-License-Identifier: Apache-2.0
// SnapshotWriter: makes snapshots from changes of several threads, and publishes a burst of changes as one.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "nccl_env/base/log.h"
#include "nccl_env/core/decide/snapshot.h"
#include "nccl_env/store/published.h"

namespace nccl_env::store {

class SnapshotWriter {
 public:
  // A snapshot of 15 000 tables costs about half a millisecond: one percent of a CPU at most.
  static constexpr std::chrono::milliseconds kInterval{50};
  static constexpr std::chrono::seconds kTick{1};

  struct Contact {
    bool in_sync = true, tables_followed = true;  // as in a snapshot
    bool operator==(const Contact&) const = default;
  };
  struct Source {
    int parts = 1;                     // how often complete_part() must be called before the first snapshot
    std::function<Contact()> contact;  // asked every tick and before every snapshot
    std::function<void()> on_first;    // after the first snapshot, on the writer's thread
  };

  SnapshotWriter(Source source, std::shared_ptr<Logger> log);
  ~SnapshotWriter() { stop(); }
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  // Changes the snapshot that is published next, within kInterval unless parts are missing.
  template <class Change>
  void change(Change change) {
    const std::lock_guard lock(mutex_);
    change(draft_);
    if (!std::exchange(changed_, true)) wake_.notify_one();  // the first of a burst wakes
  }
  // Says that the last change completed one more part.
  void complete_part();

  // Joins the thread: nothing is published any more. Idempotent, by one thread.
  void stop();

  [[nodiscard]] const Published<Snapshot>& snapshots() const { return snapshots_; }
  [[nodiscard]] bool published() const { return published_ > 0; }
  [[nodiscard]] std::uint64_t count() const { return published_; }
  [[nodiscard]] std::int64_t last_unix() const { return last_unix_; }

 private:
  void run();
  void publish(std::unique_lock<std::mutex>& lock);

  const Source source_;
  const std::shared_ptr<Logger> log_;
  Published<Snapshot> snapshots_{std::make_shared<const Snapshot>()};
  std::atomic<std::uint64_t> published_{0};
  std::atomic<std::int64_t> last_unix_{0};
  std::mutex mutex_;  // guards the four below
  Snapshot draft_;
  int complete_ = 0;
  bool changed_ = false, stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;  // last: it starts when everything else is there
};

}  // namespace nccl_env::store
