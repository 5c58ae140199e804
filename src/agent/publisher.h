// SPDX-License-Identifier: Apache-2.0
// Writes tables on a thread of its own, so that a store that does not answer delays neither the next look
// nor the end.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

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

  // From now on losses are told, too. Once, before the first job.
  void follow();
  // One job at a time: only after the outcome of the one before has been taken.
  void begin();
  void write(nlohmann::ordered_json object);
  // Everything that happened since the last take().
  struct Outcomes {
    std::optional<Begun> begun;       // how the job ended; absent while it is under way, or if it was another
    std::optional<Written> written;   // the same
    std::optional<std::string> lost;  // why the store does not hold the table any more
  };
  // Readable once there are any.
  [[nodiscard]] int descriptor() const { return happened_; }
  Outcomes take();

 private:
  using Job = std::function<void()>;
  void start(Job job);
  void tell() const;
  void run();

  TableStore& store_;
  int happened_ = -1;  // eventfd
  std::mutex mutex_;   // guards all below
  std::condition_variable changed_;
  Job job_;
  Outcomes outcomes_;
  bool stopping_ = false;
  std::thread thread_;  // last: it starts when everything else is there
};

}  // namespace nccl_env::app
