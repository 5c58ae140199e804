// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/net/tls/tls.h"

namespace nccl_env::webhook {

// Says in time that a certificate ends: otherwise the API server would be the first to notice, and that is
// too late.
class CertificateReminder {
 public:
  using Time = std::chrono::system_clock::time_point;
  struct Reminder {
    std::string_view message;  // of the log line
    std::string problem;
  };

  // Returns the reminder of `info` that is due at `now`. From 30 days before its end on (or the last quarter
  // of its life, where that is shorter): once a day, and when it has 7 days, one day or nothing left.
  std::optional<Reminder> due(const net::CertificateInfo& info, Time now);

  // Returns how long no new reminder will be due: at most a minute, since a clock can be set.
  static std::chrono::milliseconds quiet_for(const net::CertificateInfo& info, Time now);

 private:
  enum class State { Good, NotYet, Soon, Week, Day, Ended };
  static State state_at(const net::CertificateInfo& info, Time now);

  State said_ = State::Good;
  std::string fingerprint_;
  Time said_at_;
};

}  // namespace nccl_env::webhook
