// SPDX-License-Identifier: Apache-2.0
// Collector: leads a test, and writes its journal.
#pragma once

#include <chrono>
#include <iosfwd>
#include <memory>
#include <string>

#include "nccl_env/core/proof/rounds.h"
#include "nccl_env/result.h"

namespace nccl_env::packets {

struct CollectorOptions {
  int expected = 2;
  std::string token;
  bool all_pairs = false;
  bool cross_rails = false;
  std::chrono::milliseconds wait{60'000};          // for members; then those that came are tested
  std::chrono::milliseconds hello_time{5'000};     // from connecting to the token
  std::chrono::milliseconds reply_time{8'000};     // to an order: a member gives up after 5 s
  std::chrono::steady_clock::time_point deadline;  // of everything
};

// Strangers get nothing but a closed connection: the first line has to be a Hello with the token, for a place
// that nobody has. At most expected + 16 connections are open; a new one beyond that closes the oldest that
// has said nothing. Nobody can connect any more once the first round has begun.
class Collector {
 public:
  // Port 0: one that is free.
  static Result<std::unique_ptr<Collector>> listen(const CollectorOptions& options, int port,
                                                   std::ostream& journal);
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;
  ~Collector();

  [[nodiscard]] int port() const;
  // Returns once all that came have been tested. An error: there was no time left for that, and the journal
  // has no end.
  Status run();

 private:
  class State;
  explicit Collector(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace nccl_env::packets
