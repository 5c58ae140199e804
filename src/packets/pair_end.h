// SPDX-License-Identifier: Apache-2.0
// PairEnd: a member's end of one pair, from its first order to its release. A state machine without sockets:
// begin() starts what an order wants on all links, and step() is called until it has the reply.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nccl_env/packets/rails.h"

namespace nccl_env::packets {

class PairEnd {
 public:
  // `order` is Prepare. `rails` has to outlive the object.
  PairEnd(const Order& order, std::string token, std::vector<OwnRail>& rails);

  // Links that the order does not name are released. False if it makes no sense here.
  bool begin(const Order& order, Clock::time_point deadline);
  // The reply, once; until then it has to be called again.
  std::optional<Reply> step(Clock::time_point now);
  [[nodiscard]] bool waits() const { return order_.has_value(); }

 private:
  struct Link {
    int number = 0;
    OwnRail* rail = nullptr;
    std::unique_ptr<QueuePair> queue_pair = {};
    std::optional<ProofStep> waits_for = {};
  };

  bool prepare(const Order& order);
  void connect(Link& link, const LinkEnd& peer);
  void write(Link& link, ProofStep step, std::size_t bytes);
  void check(Link& link);
  void follow(Link& link, Clock::time_point now);
  void fail(Link& link, ProofStep step, std::optional<int> error);
  [[nodiscard]] std::vector<unsigned char> pattern(int link, ProofEnd writer) const;

  const int pair_;
  const ProofEnd end_;
  const std::string token_;
  std::vector<OwnRail>& rails_;
  std::vector<Link> links_;
  std::size_t most_bytes_ = kAllBytes;
  std::optional<OrderWord> order_;
  Clock::time_point deadline_;
  Reply reply_;
};

}  // namespace nccl_env::packets
