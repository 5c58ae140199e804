// SPDX-License-Identifier: Apache-2.0
// PairTalk: one pair's way through the orders. A state machine without sockets: advance() has the next orders
// for both ends as soon as both have replied, or the time for it is over.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <vector>

#include "nccl_env/packets/verbs.h"

namespace nccl_env::packets {

class PairTalk {
 public:
  using Orders = std::array<Order, 2>;  // of From, of To

  PairTalk(int number, ProofPair pair) : number_(number), pair_(std::move(pair)) {}

  // Nothing while it waits, and behind Release.
  std::optional<Orders> advance(Clock::time_point now, std::chrono::milliseconds reply_time);
  // Replies to something else, such as late ones, change nothing.
  void take(ProofEnd end, const Reply& reply);
  // The end's member is gone.
  void lose(ProofEnd end);

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_over() const { return phase_ == OrderWord::Release; }
  // Until then nothing happens here by itself.
  [[nodiscard]] Clock::time_point deadline() const { return deadline_; }
  [[nodiscard]] const ProofPair& pair() const { return pair_; }

 private:
  [[nodiscard]] Order order_for(ProofEnd end) const;
  void blame(std::size_t link, ProofStep step, ProofEnd end, std::optional<int> error);
  void blame_all(ProofEnd end);

  const int number_;
  ProofPair pair_;
  std::optional<OrderWord> phase_;
  std::vector<bool> asked_;                        // links that were well when the phase began
  std::array<bool, 2> replied_{true, true};        // by end
  std::array<std::vector<LinkEnd>, 2> ends_ = {};  // those that Prepare made
  Clock::time_point deadline_ = {};
};

}  // namespace nccl_env::packets
