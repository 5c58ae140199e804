// SPDX-License-Identifier: Apache-2.0
// Informer: a thread that keeps a sink in step with one collection of the API server.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "nccl_env/base/log.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/kube/watch.h"

namespace nccl_env::kube {

struct InformerHealth {
  bool synced = false;                 // a whole list has been read
  bool in_contact = false;             // the last request was answered as expected, or a watch is open
  bool following = false;              // a watch has been open for a second: the sink has what was written
  std::chrono::seconds since_contact;  // since the server last answered, or since the start
  std::uint64_t relists = 0;           // lists after the first
  std::string problem;                 // why it is not in contact, else ""
};

class Informer {
 public:
  // The sink is called on the informer's thread only. Client and sink must outlive the informer.
  Informer(Client& client, Collection collection, WatchSink& sink, std::shared_ptr<Logger> log);
  // The client has to be stopped before.
  ~Informer();
  Informer(const Informer&) = delete;
  Informer& operator=(const Informer&) = delete;

  [[nodiscard]] InformerHealth health() const;  // from any thread

 private:
  void run();
  void list(const Watch::Step& step);
  void watch(const Watch::Step& step);
  void note(bool heard);
  void set_open(std::optional<Watch::Time> since);

  Client& client_;
  const Collection collection_;
  WatchSink& sink_;
  const std::shared_ptr<Logger> log_;
  Watch watch_;               // used by the thread only
  std::string logged_;        // the problem logged last; used by the thread only
  mutable std::mutex mutex_;  // guards the three below
  InformerHealth health_;
  Watch::Time last_contact_;
  std::optional<Watch::Time> open_since_;  // of a watch
  std::thread thread_;                     // last: it starts when everything else is there
};

}  // namespace nccl_env::kube
