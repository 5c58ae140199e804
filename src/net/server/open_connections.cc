// SPDX-License-Identifier: Apache-2.0
#include "server/open_connections.h"

#include <algorithm>

namespace nccl_env::net {
namespace {

// Connections that were told to go and whose event loop has not come to it: so many beyond the limit.
int most_leaving(int limit) {
  return std::max(16, limit / 8);
}

}  // namespace

bool OpenConnections::Ticket::begin_request() {
  State expected = State::Resting;
  return entry_->state.compare_exchange_strong(expected, State::InRequest) || expected == State::InRequest;
}

void OpenConnections::Ticket::end_request(bool finished) {
  entry_->resting_since.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  if (finished && !used_) owner_->note_used(entry_);
  used_ = used_ || finished;
  State expected = State::InRequest;
  entry_->state.compare_exchange_strong(expected, State::Resting);
}

bool OpenConnections::behind() const {
  return count() >= limit_ + most_leaving(limit_);
}

OpenConnections::Entrance OpenConnections::enter(const boost::asio::ip::address& peer, int worker) {
  const std::lock_guard lock(mutex_);
  if (behind()) return {};
  const auto found = per_peer_.find(peer);
  const bool over_share = found != per_peer_.end() && found->second.all >= limit_per_peer_;
  const bool full = unused_.size() + used_.size() >= static_cast<std::size_t>(limit_);
  Entrance entrance;
  if (over_share || full) {
    entrance.victim = give_up_one(over_share ? &peer : nullptr);
    if (!entrance.victim) return {};
    if (over_share) entrance.victim->cause = Eviction::Share;
  }
  const auto entry = unused_.emplace(unused_.end());
  entry->id = next_id_++;
  entry->worker = worker;
  entry->peer = peer;
  entry->home = &unused_;
  Peer& of_peer = per_peer_[peer];
  ++of_peer.all;
  ++of_peer.unused;
  ++count_;
  entrance.ticket.emplace(Ticket(*this, entry));
  return entrance;
}

std::optional<OpenConnections::Victim> OpenConnections::give_up_one(const boost::asio::ip::address* of_peer) {
  // A flood of new connections makes each of them the oldest soon. The address with the most of them loses
  // one, so that a client with a few has the time that its first request takes.
  if (auto victim = give_up_unused(of_peer != nullptr ? of_peer : most_unused())) return victim;
  if (auto victim = give_up_unused(of_peer)) return victim;  // those of that address are being answered
  return give_up_idle(of_peer);
}

const boost::asio::ip::address* OpenConnections::most_unused() const {
  const auto most = std::max_element(
      per_peer_.begin(), per_peer_.end(),
      [](const auto& one, const auto& other) { return one.second.unused < other.second.unused; });
  // Where each has one at most, the oldest of all goes.
  return most == per_peer_.end() || most->second.unused < 2 ? nullptr : &most->first;
}

std::optional<OpenConnections::Victim> OpenConnections::give_up_unused(
    const boost::asio::ip::address* of_peer) {
  for (auto entry = unused_.begin(); entry != unused_.end(); ++entry) {
    if ((of_peer == nullptr || entry->peer == *of_peer) && takes(*entry))
      return give_up(entry, Eviction::Unused);
  }
  return std::nullopt;
}

std::optional<OpenConnections::Victim> OpenConnections::give_up_idle(
    const boost::asio::ip::address* of_peer) {
  // A connection may begin a request between the look and the taking: then the next one.
  for (std::size_t tries = 0; tries < 3; ++tries) {
    auto oldest = used_.end();
    for (auto entry = used_.begin(); entry != used_.end(); ++entry) {
      if (entry->state != State::Resting || (of_peer != nullptr && entry->peer != *of_peer)) continue;
      if (oldest == used_.end() || entry->resting_since < oldest->resting_since) oldest = entry;
    }
    if (oldest == used_.end()) return std::nullopt;
    if (takes(*oldest)) return give_up(oldest, Eviction::Idle);
  }
  return std::nullopt;
}

bool OpenConnections::takes(Entry& entry) {
  State expected = State::Resting;
  return entry.state.compare_exchange_strong(expected, State::GivenUp);
}

OpenConnections::Victim OpenConnections::give_up(std::list<Entry>::iterator entry, Eviction cause) {
  forget_peer(*entry);
  move(entry, leaving_);
  return {entry->worker, entry->id, cause};
}

void OpenConnections::forget_peer(const Entry& entry) {
  const auto found = per_peer_.find(entry.peer);
  if (entry.home == &unused_) --found->second.unused;
  if (--found->second.all == 0) per_peer_.erase(found);
}

void OpenConnections::move(std::list<Entry>::iterator entry, std::list<Entry>& to) {
  to.splice(to.end(), *entry->home, entry);
  entry->home = &to;
}

void OpenConnections::note_used(std::list<Entry>::iterator entry) {
  const std::lock_guard lock(mutex_);
  if (entry->home != &unused_) return;
  --per_peer_.find(entry->peer)->second.unused;
  move(entry, used_);
}

void OpenConnections::leave(std::list<Entry>::iterator entry) {
  const std::lock_guard lock(mutex_);
  if (entry->home != &leaving_) forget_peer(*entry);
  entry->home->erase(entry);
  if (--count_ > 0) return;
  empty_since_ = Clock::now();
  emptied_.notify_all();
}

bool OpenConnections::wait_empty(std::chrono::milliseconds grace, std::chrono::milliseconds settle) {
  std::unique_lock lock(mutex_);
  const auto start = Clock::now();
  const auto deadline = start + grace;
  for (;;) {
    const auto settled = std::max(start, empty_since_) + settle;
    const auto now = Clock::now();
    if (count() == 0 && now >= settled) return true;
    if (waits_ended_ || now >= deadline) return false;
    emptied_.wait_until(lock, count() == 0 ? std::min(deadline, settled) : deadline);
  }
}

void OpenConnections::end_waits() {
  const std::lock_guard lock(mutex_);
  waits_ended_ = true;
  emptied_.notify_all();
}

}  // namespace nccl_env::net
