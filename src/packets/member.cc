// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/packets/member.h"

#include <poll.h>

#include <algorithm>
#include <map>
#include <thread>

#include "line_socket.h"
#include "pair_end.h"

namespace nccl_env::packets {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kConnectTime{2'000}, kPause{200};
// The collector started later, and ends the test itself.
constexpr std::chrono::seconds kGrace{30};
constexpr int kPollMilliseconds = 1;  // between looks at completion queues
// A member has two peers in a round, and the release of those before may still be on its way.
constexpr std::size_t kMostPairs = 8;

class Member {
 public:
  Member(const MemberOptions& options, std::vector<OwnRail>& rails) : options_(options), rails_(rails) {}

  Status run() {
    Error last{"the test had no time left"};
    bool was_there = false;
    while (Clock::now() < options_.deadline) {
      auto socket = LineSocket::connect(options_.collector, options_.port, kConnectTime);
      if (socket) {
        was_there = true;
        talk(*socket);
        pairs_.clear();
        if (over_) return done();
      } else {
        last = socket.error();
      }
      // A collector without room for us is still there; one that is gone never comes back.
      if (!problem_.empty() || ordered_ || (was_there && !socket))
        return Error{"the collector " + options_.collector +
                     (problem_.empty() ? " went away" : " ordered nonsense: " + problem_)};
      std::this_thread::sleep_for(kPause);
    }
    return last;
  }

 private:
  void talk(LineSocket& socket) {
    socket.send(hello_line(options_.token, told()));
    const auto end = options_.deadline + kGrace;
    while (!over_ && Clock::now() < end) {
      const bool waits = std::ranges::any_of(pairs_, [](const auto& pair) { return pair.second.waits(); });
      pollfd polled{socket.descriptor(), socket.events(), 0};
      ::poll(&polled, 1, waits ? kPollMilliseconds : milliseconds_until(end));
      if (polled.revents != 0 &&
          !(socket.flush() && socket.receive([&](std::string_view line) { return obey(line); })))
        return;
      for (auto& [number, pair] : pairs_) {
        if (const auto reply = pair.step(Clock::now())) socket.send(to_line(*reply));
      }
    }
  }

  [[nodiscard]] ProofMember told() const {
    ProofMember member{options_.place, options_.node};
    for (const OwnRail& rail : rails_) member.rails.push_back(rail.told);
    return member;
  }

  // False ends the connection.
  bool obey(std::string_view line) {
    const auto order = read_order(line);
    if (!order)
      problem_ = order.error().message;
    else if (!follow(*order))
      problem_ = "an order that does not fit those before it";
    ordered_ = true;
    return problem_.empty();
  }

  bool follow(const Order& order) {
    over_ = order.word == OrderWord::End;
    if (over_) return true;
    if (!order.pair) return false;
    if (order.word == OrderWord::Release) return pairs_.erase(*order.pair) == 1;
    auto pair = pairs_.find(*order.pair);
    if (order.word == OrderWord::Prepare) {
      if (!order.end || pair != pairs_.end() || pairs_.size() == kMostPairs) return false;
      pair = pairs_.try_emplace(*order.pair, order, options_.token, rails_).first;
    }
    return pair != pairs_.end() && pair->second.begin(order, Clock::now() + options_.order_time);
  }

  const MemberOptions& options_;
  std::vector<OwnRail>& rails_;
  std::map<int, PairEnd> pairs_;
  bool ordered_ = false, over_ = false;
  std::string problem_;
};

}  // namespace

Status run_member(const MemberOptions& options, std::vector<OwnRail>& rails) {
  return Member(options, rails).run();
}

}  // namespace nccl_env::packets
