// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/packets/member.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <random>
#include <thread>

#include "line_socket.h"

namespace nccl_env::packets {
namespace {

constexpr std::chrono::seconds kConnectTime{2};
constexpr std::chrono::milliseconds kPause{200};
// The collector started later, and ends the test itself.
constexpr std::chrono::seconds kGrace{30};
constexpr int kIdleMilliseconds = 1000;
constexpr int kPollMilliseconds = 1;  // between looks at completion queues
// A member has two peers in a round, and the ends of the round before may still be on their way.
constexpr std::size_t kMostLinks = 4 * kMaxProofLinks;
constexpr int kLeastMtu = 256;

// A member's end of a link, as a state machine: each of the peer's words begins the next step, and step() has
// its own word once that is done.
class LinkEnd {
 public:
  LinkEnd(const LinkWord& start, const OwnRail& rail, const std::string& token, const MakeQueuePair& make)
      : start_(start), rail_(rail), seed_(token + " " + std::to_string(*start.link) + " ") {
    MadeQueuePair made = make(rail);
    if (const auto* fault = std::get_if<RailFault>(&made)) {
      say(fault->step, fault->error);
      return;
    }
    queue_pair_ = std::get<std::unique_ptr<QueuePair>>(std::move(made));
    std::ranges::copy(pattern(*start.end), queue_pair_->outgoing().begin());
    LinkWord& word = word_.emplace(LinkWord{.link = start_.link, .gid = rail.told.gid});
    queue_pair_->describe(word);
  }

  void take(const LinkWord& peer, Clock::time_point deadline) {
    deadline_ = deadline;
    if (peer.step || word_ || waits_for_)
      queue_pair_.reset();
    else if (taken_ == 0)
      connect(peer);
    else if (taken_ == 1)
      write(ProofStep::Packet, kFirstBytes);
    else
      compare();
    ++taken_;
  }

  std::optional<LinkWord> step(Clock::time_point now) {
    if (queue_pair_ && waits_for_) follow(now);
    return std::exchange(word_, {});
  }

  [[nodiscard]] bool waits() const { return word_ || waits_for_; }
  [[nodiscard]] bool is_over() const { return !queue_pair_; }

 private:
  // A word with a step is the last one.
  void say(std::optional<ProofStep> step = {}, std::optional<int> error = {}) {
    word_ = {.link = start_.link, .step = step, .error = error};
    if (step) queue_pair_.reset();
  }

  void connect(const LinkWord& peer) {
    // NCCL takes the smaller one, too.
    const int mtu = std::min({peer.mtu.value_or(0), rail_.told.mtu.value_or(0), kAllBytes});
    if (!peer.gid || mtu < kLeastMtu) return say(ProofStep::Connect, EINVAL);
    queue_pair_->connect(peer, mtu);
    waits_for_ = ProofStep::Connect;
  }

  void write(ProofStep step, int bytes) {
    queue_pair_->write(bytes);
    waits_for_ = step;
  }

  void follow(Clock::time_point now) {
    const auto result = queue_pair_->poll();
    if (!result && now < deadline_) return;
    const ProofStep step = *std::exchange(waits_for_, {});
    if (!result) return say(step, step == ProofStep::Connect ? std::optional(ETIMEDOUT) : std::nullopt);
    if (*result != 0) return say(step, *result);
    if (step == ProofStep::Packet && *start_.bytes > kFirstBytes)
      return write(ProofStep::Packets, *start_.bytes);
    say();
  }

  void compare() {
    const auto sent = pattern(*start_.end == ProofEnd::From ? ProofEnd::To : ProofEnd::From);
    const auto came = queue_pair_->incoming().first(static_cast<std::size_t>(*start_.bytes));
    say(std::equal(came.begin(), came.end(), sent.begin()) ? std::optional<ProofStep>() : ProofStep::Bytes);
    queue_pair_.reset();
  }

  // Bytes that both ends can make, and nobody without the token.
  [[nodiscard]] std::vector<unsigned char> pattern(ProofEnd writer) const {
    const std::string text = seed_ + (writer == ProofEnd::From ? "from" : "to");
    std::seed_seq seed(text.begin(), text.end());
    std::mt19937 random(seed);
    std::vector<unsigned char> bytes(kAllBytes);
    std::ranges::generate(bytes, [&] { return static_cast<unsigned char>(random()); });
    return bytes;
  }

  const LinkWord start_;
  const OwnRail& rail_;
  const std::string seed_;
  std::unique_ptr<QueuePair> queue_pair_;
  int taken_ = 0;  // the peer's words
  std::optional<ProofStep> waits_for_;
  Clock::time_point deadline_;
  std::optional<LinkWord> word_;
};

class Member {
 public:
  Member(const MemberOptions& options, const std::vector<OwnRail>& rails, const MakeQueuePair& make)
      : options_(options), rails_(rails), make_(make) {}

  Status run() {
    Error last{"the test had no time left"};
    bool was_there = false;
    while (Clock::now() < options_.deadline) {
      auto socket = LineSocket::connect(options_.collector, options_.port, kConnectTime);
      if (socket) {
        was_there = true;
        talk(*socket);
        links_.clear();
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
    ProofMember told{options_.place, options_.node};
    for (const OwnRail& rail : rails_) told.rails.push_back(rail.told);
    socket.send(options_.token + " " + to_line(told));
    const auto end = options_.deadline + kGrace;
    while (!over_ && Clock::now() < end) {
      const bool waits = std::ranges::any_of(links_, [](const auto& link) { return link.second.waits(); });
      pollfd polled = socket.wanted();
      ::poll(&polled, 1, waits ? kPollMilliseconds : kIdleMilliseconds);
      if (polled.revents != 0 && !socket.serve([&](std::string_view line) { return obey(line); })) return;
      for (auto& [number, link] : links_) {
        if (const auto word = link.step(Clock::now())) socket.send(to_line(*word));
      }
      std::erase_if(links_, [](const auto& link) { return link.second.is_over(); });
    }
  }

  // False ends the connection.
  bool obey(std::string_view line) {
    const auto word = read_line<LinkWord>(line);
    if (!word)
      problem_ = word.error().message;
    else if (word->end && !begin(*word))
      problem_ = "a link that makes no sense";
    else if (const auto link = links_.find(word->link.value_or(-1)); link != links_.end() && !word->end)
      link->second.take(*word, Clock::now() + options_.step_time);
    over_ = problem_.empty() && !word->link;
    ordered_ = true;
    return problem_.empty();
  }

  bool begin(const LinkWord& start) {
    const auto rail = static_cast<std::size_t>(start.rail.value_or(-1));
    return start.link && start.bytes && rail < rails_.size() && links_.size() < kMostLinks &&
           links_.try_emplace(*start.link, start, rails_[rail], options_.token, make_).second;
  }

  const MemberOptions& options_;
  const std::vector<OwnRail>& rails_;
  const MakeQueuePair& make_;
  std::map<int, LinkEnd> links_;  // by number
  bool ordered_ = false, over_ = false;
  std::string problem_;
};

}  // namespace

Status run_member(const MemberOptions& options, const std::vector<OwnRail>& rails,
                  const MakeQueuePair& make) {
  return Member(options, rails, make).run();
}

}  // namespace nccl_env::packets
