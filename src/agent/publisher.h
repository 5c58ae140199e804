// SPDX-License-Identifier: Apache-2.0
// Writes tables on a thread of its own, so that a store that does not answer delays neither the next look
// nor the end.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "table_store.h"

namespace nccl_env::app {

class Publisher {
 public:
  using Begun = Result<TableStore::Beginning>;
  using Written = Result<TableStore::NodeFacts>;

  // The store must outlive the publisher.
  explicit Publisher(TableStore& store);
  ~Publisher();  // stops the store
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  // One job at a time: only after the outcome of the one before has been taken.
  void begin();
  void write(nlohmann::ordered_json object);
  // Readable once a job has ended.
  [[nodiscard]] int descriptor() const { return ended_; }
  // How the job ended; nothing while it is under way, or if it was another or none.
  std::optional<Begun> take_begun() { return take(begun_); }
  std::optional<Written> take_written() { return take(written_); }

 private:
  using Job = std::function<void()>;
  template <class Outcome>
  std::optional<Outcome> take(std::optional<Outcome>& from) {
    const std::lock_guard lock(mutex_);
    clear_descriptor();
    return std::exchange(from, std::nullopt);
  }
  void start(Job job);
  void clear_descriptor() const;
  void run();

  TableStore& store_;
  int ended_ = -1;    // eventfd
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  Job job_;
  std::optional<Begun> begun_;
  std::optional<Written> written_;
  bool stopping_ = false;
  std::thread thread_;  // last: it starts when everything else is there
};

}  // namespace nccl_env::app
