// SPDX-License-Identifier: Apache-2.0
// Writes tables on a thread of its own, so that a store that does not answer delays neither the next look
// nor the end.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "table_store.h"

namespace nccl_env::app {

class Publisher {
 public:
  // The store must outlive the publisher.
  explicit Publisher(TableStore& store);
  ~Publisher();  // waits for a write that is under way
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  // Begins to write. Only after the outcome of the one before has been taken.
  void begin(nlohmann::ordered_json object);
  // Readable once a write has ended.
  [[nodiscard]] int descriptor() const { return ended_; }
  // How the write ended; nothing while it is under way, or if there was none.
  std::optional<Status> take_outcome();

 private:
  void run();

  TableStore& store_;
  int ended_ = -1;    // eventfd
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::optional<nlohmann::ordered_json> object_;
  std::optional<Status> outcome_;
  bool stopping_ = false;
  std::thread thread_;  // last: it starts when everything else is there
};

}  // namespace nccl_env::app
