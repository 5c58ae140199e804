// SPDX-License-Identifier: Apache-2.0
#include "snapshot_writer.h"

namespace nccl_env::store {

using Clock = std::chrono::steady_clock;

SnapshotWriter::SnapshotWriter(Source source, std::shared_ptr<Logger> log)
    : source_(std::move(source)), log_(std::move(log)), thread_([this] { run(); }) {}

void SnapshotWriter::complete_part() {
  const std::lock_guard lock(mutex_);
  ++complete_;
  wake_.notify_one();
}

void SnapshotWriter::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  thread_.join();
}

void SnapshotWriter::run() {
  std::unique_lock lock(mutex_);
  const auto due = [this] { return stopping_ || (changed_ && complete_ >= source_.parts); };
  auto next = Clock::now();
  while (!stopping_) {
    wake_.wait_until(lock, Clock::now() + kTick, due);
    if (stopping_) return;
    lock.unlock();
    const Contact contact = source_.contact();  // may take other locks
    lock.lock();
    if (contact != Contact{draft_.in_sync, draft_.tables_followed}) {
      draft_.in_sync = contact.in_sync;
      draft_.tables_followed = contact.tables_followed;
      changed_ = true;
    }
    if (!due() || stopping_) continue;
    wake_.wait_until(lock, next, [this] { return stopping_; });  // the snapshot includes changes until then
    if (stopping_) return;
    publish(lock);
    next = Clock::now() + kInterval;
  }
}

void SnapshotWriter::publish(std::unique_lock<std::mutex>& lock) {
  auto snapshot = std::make_shared<const Snapshot>(draft_);
  changed_ = false;
  lock.unlock();
  const bool first = published_ == 0;
  const bool all = snapshot->tables_known && (first || !snapshots_.get()->tables_known);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  last_unix_ = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  log_->log(first || all ? LogLevel::Info : LogLevel::Debug, "store loaded",
            {{"policies", snapshot->policies.size()},
             {"tables", snapshot->tables.size()},
             {"all_tables", snapshot->tables_known},
             {"namespaces", snapshot->opted_in.size()},
             {"in_sync", snapshot->in_sync}});
  snapshots_.publish(std::move(snapshot));
  ++published_;
  if (first && source_.on_first) source_.on_first();
  lock.lock();
}

}  // namespace nccl_env::store
