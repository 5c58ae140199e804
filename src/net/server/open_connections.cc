// SPDX-License-Identifier: Apache-2.0
#include "server/open_connections.h"

#include <algorithm>
#include <utility>

namespace nccl_env::net {
namespace {

constexpr int kTries = 3;

// Returns how many connections may be open beyond the limit: they were told to go, but their event loop has
// not closed them yet.
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
  const bool over_share =
      found != per_peer_.end() && found->second.unused + found->second.used >= limit_per_peer_;
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
  entry->of_peer = &per_peer_[peer];
  ++entry->of_peer->unused;
  ++count_;
  entrance.ticket.emplace(Ticket(*this, entry));
  return entrance;
}

std::optional<OpenConnections::Victim> OpenConnections::give_up_one(const boost::asio::ip::address* of_peer) {
  if (auto victim = give_up_unused(of_peer)) return victim;
  return give_up_idle(of_peer);
}

std::optional<OpenConnections::Victim> OpenConnections::give_up_unused(
    const boost::asio::ip::address* of_peer) {
  // In a fast flood each connection is soon the oldest. So two kinds of addresses get time for the first
  // request on a new connection: those with another connection that has finished a request, and those with
  // few new connections.
  const auto rank = [](const Entry& entry) {
    return std::pair(entry.of_peer->used == 0, entry.of_peer->unused);
  };
  // A connection may begin a request between the search and takes(); then the next one is tried.
  for (int tries = 0; tries < kTries; ++tries) {
    auto first = unused_.end();
    for (auto entry = unused_.begin(); entry != unused_.end(); ++entry) {
      if (entry->state != State::Resting || (of_peer != nullptr && entry->peer != *of_peer)) continue;
      if (first == unused_.end() || rank(*entry) > rank(*first)) first = entry;
    }
    if (first == unused_.end()) return std::nullopt;
    if (takes(*first)) return give_up(first, Eviction::Unused);
  }
  return std::nullopt;
}

std::optional<OpenConnections::Victim> OpenConnections::give_up_idle(
    const boost::asio::ip::address* of_peer) {
  for (int tries = 0; tries < kTries; ++tries) {
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

void OpenConnections::forget_peer(Entry& entry) {
  --(entry.home == &unused_ ? entry.of_peer->unused : entry.of_peer->used);
  if (entry.of_peer->unused + entry.of_peer->used == 0) per_peer_.erase(entry.peer);
  entry.of_peer = nullptr;
}

void OpenConnections::move(std::list<Entry>::iterator entry, std::list<Entry>& to) {
  to.splice(to.end(), *entry->home, entry);
  entry->home = &to;
}

void OpenConnections::note_used(std::list<Entry>::iterator entry) {
  const std::lock_guard lock(mutex_);
  if (entry->home != &unused_) return;
  --entry->of_peer->unused;
  ++entry->of_peer->used;
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
