// SPDX-License-Identifier: Apache-2.0
#include "pair_end.h"

#include <algorithm>
#include <cerrno>
#include <random>
#include <set>

namespace nccl_env::packets {
namespace {

// The most that all links of a pair carry, in both directions.
constexpr std::size_t kMostPairBytes = 128u << 10;
constexpr int kLeastMtu = 256;

bool is_known(const LinkRail& link, const std::vector<OwnRail>& rails) {
  const auto rail = static_cast<std::size_t>(link.rail);
  return rail < rails.size() && rails[rail].device;
}

}  // namespace

PairEnd::PairEnd(const Order& order, std::string token, std::vector<OwnRail>& rails)
    : pair_(order.pair.value_or(0)),
      end_(order.end.value_or(ProofEnd::From)),
      token_(std::move(token)),
      rails_(rails) {}

bool PairEnd::begin(const Order& order, Clock::time_point deadline) {
  if (order_) return false;
  deadline_ = deadline;
  reply_ = {.pair = pair_, .word = order.word};
  if (order.word == OrderWord::Prepare) {
    if (!prepare(order)) return false;
  } else if (order.word == OrderWord::Connect) {
    if (!order.ends) return false;
    std::erase_if(links_, [&](Link& link) {
      const auto peer = std::ranges::find(*order.ends, link.number, &LinkEnd::link);
      if (peer != order.ends->end()) connect(link, *peer);
      return peer == order.ends->end();
    });
  } else {
    if (!order.rails) return false;
    std::erase_if(links_, [&](const Link& link) {
      return std::ranges::find(*order.rails, link.number, &LinkRail::link) == order.rails->end();
    });
    for (Link& link : links_)
      order.word == OrderWord::Write ? write(link, ProofStep::Packet, kFirstBytes) : check(link);
  }
  order_ = order.word;
  return true;
}

bool PairEnd::prepare(const Order& order) {
  if (!order.rails || !links_.empty()) return false;
  std::set<int> numbers;
  for (const LinkRail& each : *order.rails) {
    if (!is_known(each, rails_) || !numbers.insert(each.link).second) return false;
  }
  reply_.ends.emplace();
  if (2 * order.rails->size() * (kFirstBytes + kAllBytes) > kMostPairBytes) most_bytes_ = kFirstBytes;
  for (const LinkRail& each : *order.rails) {
    Link& link = links_.emplace_back(Link{each.link, &rails_[static_cast<std::size_t>(each.rail)]});
    auto made = link.rail->device->make_queue_pair(link.rail->settings);
    if (const auto* fault = std::get_if<RailFault>(&made)) {
      fail(link, fault->step, fault->error);
      continue;
    }
    link.queue_pair = std::get<std::unique_ptr<QueuePair>>(std::move(made));
    std::ranges::copy(pattern(link.number, end_), link.queue_pair->outgoing().begin());
    const ProofRail& rail = link.rail->told;
    LinkEnd& end = reply_.ends->emplace_back();
    end = {.link = link.number, .gid = rail.gid, .mtu = rail.mtu.value_or(0)};
    if (rail.link_layer == LinkLayer::InfiniBand) end.lid = link.rail->lid;
    link.queue_pair->describe(end);
  }
  return true;
}

void PairEnd::connect(Link& link, const LinkEnd& peer) {
  // NCCL takes the smaller one, too.
  const int mtu = std::min({peer.mtu, link.rail->told.mtu.value_or(0), static_cast<int>(kAllBytes)});
  if (!link.queue_pair) return;
  if (!peer.gid || mtu < kLeastMtu) return fail(link, ProofStep::Connect, EINVAL);
  link.queue_pair->connect(peer, mtu);
  link.waits_for = ProofStep::Connect;
}

void PairEnd::write(Link& link, ProofStep step, std::size_t bytes) {
  if (!link.queue_pair) return;
  link.queue_pair->write(bytes);
  link.waits_for = step;
}

void PairEnd::check(Link& link) {
  if (!link.queue_pair) return;
  const auto sent = pattern(link.number, end_ == ProofEnd::From ? ProofEnd::To : ProofEnd::From);
  const auto came = link.queue_pair->incoming().first(most_bytes_);
  if (!std::equal(came.begin(), came.end(), sent.begin())) fail(link, ProofStep::Bytes, {});
}

std::optional<Reply> PairEnd::step(Clock::time_point now) {
  if (!order_) return std::nullopt;
  for (Link& link : links_) follow(link, now);
  if (std::ranges::any_of(links_, [](const Link& link) { return link.waits_for.has_value(); }))
    return std::nullopt;
  order_.reset();
  return std::move(reply_);
}

void PairEnd::follow(Link& link, Clock::time_point now) {
  if (!link.waits_for) return;
  const auto result = link.queue_pair->poll();
  if (!result && now < deadline_) return;
  const ProofStep step = *link.waits_for;
  link.waits_for.reset();
  const bool connects = step == ProofStep::Connect;
  if (!result) return fail(link, step, connects ? std::optional(ETIMEDOUT) : std::nullopt);
  if (*result != 0) return fail(link, step, *result);
  if (step == ProofStep::Packet && most_bytes_ > kFirstBytes) write(link, ProofStep::Packets, most_bytes_);
}

void PairEnd::fail(Link& link, ProofStep step, std::optional<int> error) {
  link.queue_pair.reset();
  if (!reply_.faults) reply_.faults.emplace();
  reply_.faults->push_back({link.number, step, error});
}

// Bytes that both ends can make, and nobody without the token.
std::vector<unsigned char> PairEnd::pattern(int link, ProofEnd writer) const {
  const std::string text = token_ + " " + std::to_string(pair_) + " " + std::to_string(link) +
                           (writer == ProofEnd::From ? " from" : " to");
  std::seed_seq seed(text.begin(), text.end());
  std::mt19937 random(seed);
  std::vector<unsigned char> bytes(kAllBytes);
  std::ranges::generate(bytes, [&] { return static_cast<unsigned char>(random()); });
  return bytes;
}

}  // namespace nccl_env::packets
