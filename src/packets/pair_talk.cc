// SPDX-License-Identifier: Apache-2.0
#include "pair_talk.h"

#include <algorithm>

namespace nccl_env::packets {
namespace {

std::size_t at(ProofEnd end) {
  return end == ProofEnd::From ? 0 : 1;
}
ProofEnd other(ProofEnd end) {
  return end == ProofEnd::From ? ProofEnd::To : ProofEnd::From;
}

// Orders two faults of one phase, of which the first counts: an end that is gone explains what the other
// sees.
int rank(ProofStep step) {
  return step == ProofStep::Answer ? -1 : static_cast<int>(step);
}

OrderWord after(std::optional<OrderWord> phase) {
  return phase ? static_cast<OrderWord>(static_cast<int>(*phase) + 1) : OrderWord::Prepare;
}

}  // namespace

std::optional<PairTalk::Orders> PairTalk::advance(Clock::time_point now,
                                                  std::chrono::milliseconds reply_time) {
  if (is_over()) return std::nullopt;
  const bool all_replied = replied_[0] && replied_[1];
  if (!all_replied && now < deadline_) return std::nullopt;
  for (const ProofEnd end : {ProofEnd::From, ProofEnd::To}) {
    if (!replied_[at(end)]) blame_all(end);
  }
  asked_.clear();
  for (const ProofLink& link : pair_.links) asked_.push_back(!link.step);
  const bool goes_on = std::ranges::find(asked_, true) != asked_.end();
  const bool is_first = !phase_;
  phase_ = goes_on ? after(phase_) : OrderWord::Release;
  replied_ = {false, false};
  deadline_ = now + reply_time;
  if (is_first && !goes_on) return std::nullopt;  // it has no link
  return Orders{order_for(ProofEnd::From), order_for(ProofEnd::To)};
}

Order PairTalk::order_for(ProofEnd end) const {
  Order order{.word = *phase_, .pair = number_};
  if (phase_ == OrderWord::Release) return order;
  if (phase_ == OrderWord::Prepare) order.end = end;
  if (phase_ == OrderWord::Connect) {
    order.ends.emplace();
    for (const LinkEnd& peer : ends_[at(other(end))]) {
      if (asked_[static_cast<std::size_t>(peer.link)]) order.ends->push_back(peer);
    }
    return order;
  }
  order.rails.emplace();
  for (std::size_t link = 0; link < asked_.size(); ++link) {
    const ProofLink& rails = pair_.links[link];
    if (asked_[link])
      order.rails->push_back({static_cast<int>(link), end == ProofEnd::From ? rails.from : rails.to});
  }
  return order;
}

void PairTalk::take(ProofEnd end, const Reply& reply) {
  if (!phase_ || reply.word != *phase_ || replied_[at(end)]) return;
  replied_[at(end)] = true;
  for (const LinkFault& fault : reply.faults.value_or(std::vector<LinkFault>{}))
    blame(static_cast<std::size_t>(fault.link), fault.step, end, fault.error);
  if (phase_ != OrderWord::Prepare) return;
  std::vector<bool> made(asked_.size());
  for (const LinkEnd& each : reply.ends.value_or(std::vector<LinkEnd>{})) {
    const auto link = static_cast<std::size_t>(each.link);
    if (link >= made.size() || made[link]) continue;
    made[link] = true;
    ends_[at(end)].push_back(each);
  }
  for (std::size_t link = 0; link < made.size(); ++link) {
    const auto names = [&](const LinkFault& fault) { return static_cast<std::size_t>(fault.link) == link; };
    const bool failed = reply.faults && std::ranges::any_of(*reply.faults, names);
    if (!made[link] && !failed) blame(link, ProofStep::Answer, end, {});
  }
}

void PairTalk::lose(ProofEnd end) {
  if (is_over()) return;
  blame_all(end);
  replied_ = {true, true};  // the other end's reply would tell no more
}

void PairTalk::blame_all(ProofEnd end) {
  for (std::size_t link = 0; link < asked_.size(); ++link) blame(link, ProofStep::Answer, end, {});
}

void PairTalk::blame(std::size_t link, ProofStep step, ProofEnd end, std::optional<int> error) {
  if (link >= asked_.size() || !asked_[link]) return;
  ProofLink& told = pair_.links[link];
  if (told.step == step && told.end != end) {
    told.end = ProofEnd::Both;
  } else if (!told.step || rank(step) < rank(*told.step)) {
    told.step = step;
    told.end = end;
    told.error = error;
  }
}

}  // namespace nccl_env::packets
