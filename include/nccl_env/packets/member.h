// SPDX-License-Identifier: Apache-2.0
// A node's part of a test: does what the collector orders.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "nccl_env/packets/queue_pair.h"

namespace nccl_env::packets {

struct MemberOptions {
  std::string collector;  // host
  int port = 0;
  std::string token;
  int place = 0;
  std::string node;
  Clock::time_point deadline;                  // of everything
  std::chrono::milliseconds step_time{5'000};  // for what one word begins
};

// Connects until a collector is there, and returns once it has said that the test is over. An error: it did
// not come before the deadline, went away, or ordered what makes no sense.
Status run_member(const MemberOptions& options, const std::vector<OwnRail>& rails, const MakeQueuePair& make);

}  // namespace nccl_env::packets
