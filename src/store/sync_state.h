// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

namespace nccl_env::store {

// Decides whether ages of tables count. While the server is away agents can't refresh their tables, and we
// could not see a refresh; when the server is back, agents need a while.
class SyncState {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kPatience{30};  // a reconnection is no outage
  static constexpr std::chrono::seconds kSettle{300};   // agents that failed try again within it

  // To be called with the time, often; true if ages count.
  bool update(bool in_contact, Time now);

 private:
  bool in_sync_ = true;
  std::optional<Time> lost_;   // since when there is no contact
  std::optional<Time> found_;  // since when there is contact again, after an outage
};

// Decides whether what is known may be old: nothing has followed it for longer than a watch takes to open
// again.
class Lag {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kReconnection{2};

  // To be called with the time, often; false if it may be old.
  bool update(bool following, Time now);

 private:
  std::optional<Time> lost_;  // since when nothing follows
};

}  // namespace nccl_env::store
