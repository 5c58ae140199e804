// SPDX-License-Identifier: Apache-2.0
// Collector: leads a test, and writes its journal.
#pragma once

#include <chrono>
#include <iosfwd>
#include <string>

#include "nccl_env/base/descriptor.h"
#include "nccl_env/result.h"

namespace nccl_env::packets {

struct CollectorOptions {
  int expected = 2;
  std::string token;
  bool all_pairs = false;
  bool cross_rails = false;
  std::chrono::milliseconds wait{60'000};          // for members; then those that came are tested
  std::chrono::milliseconds hello_time{5'000};     // from connecting to the token
  std::chrono::milliseconds word_time{8'000};      // for a member's word: it gives up after 5 s
  std::chrono::steady_clock::time_point deadline;  // of everything
};

// Listens on all addresses, of both families where there is IPv6. Port 0: one that is free.
Result<Descriptor> listen_on(int port);

// Returns once all that came have been tested. An error: there was no time left for that, and the journal has
// no end. Strangers get nothing but a closed connection: the first line has to be a hello with the token, for
// a place that nobody has. At most expected + 16 connections are open; a new one beyond that closes the
// oldest that has said nothing. Nobody can connect any more once the first round has begun.
Status collect(const CollectorOptions& options, Descriptor listening, std::ostream& journal);

}  // namespace nccl_env::packets
