// SPDX-License-Identifier: Apache-2.0
// Writes tables on a thread of its own, so that a store that does not answer delays neither the next look
// nor the end.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "nccl_env/base/descriptor.h"
#include "table_store.h"

namespace nccl_env::agent {

class Publisher {
 public:
  using Begun = Result<TableStore::Beginning>;
  using Written = Result<TableStore::NodeFacts>;

  // The store must outlive the publisher.
  explicit Publisher(TableStore& store);
  ~Publisher();  // stops the store
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  // Reports losses, too, from now on. Called once, before the first job.
  void follow();
  // Start one job at a time: the next one only when the outcome of the last one has been taken.
  void begin();
  void write(nlohmann::ordered_json object);
  // Everything that happened since the last take().
  struct Outcomes {
    std::optional<Begun> begun;       // how the job ended; absent while it is under way, or if it was a write
    std::optional<Written> written;   // the same
    std::optional<std::string> lost;  // why the store does not hold the table any more
  };
  // Readable once there are outcomes.
  [[nodiscard]] int descriptor() const { return happened_.get(); }
  Outcomes take();

 private:
  using Job = std::function<void()>;
  void start(Job job);
  void tell() const;
  void run();

  TableStore& store_;
  Descriptor happened_;  // eventfd
  std::mutex mutex_;     // guards all below
  std::condition_variable changed_;
  Job job_;
  Outcomes outcomes_;
  bool stopping_ = false;
  std::thread thread_;  // last: it starts when everything else is there
};

}  // namespace nccl_env::agent
