// SPDX-License-Identifier: Apache-2.0
#include "server/open_connections.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace nccl_env::net {
namespace {

constexpr int kTries = 3;
// An API server sends a review at once and reads its answer at once: 1 to 5 ms, and some for the network.
constexpr std::chrono::milliseconds kHonest{500};

// Returns how many connections may be open beyond the limit: they were told to go, but their event loop has
// not closed them yet.
int most_leaving(int limit) {
  return std::max(16, limit / 8);
}

}  // namespace

bool OpenConnections::Ticket::enter(State next, Clock::time_point now) {
  if (entry_->used) entry_->since = now;
  State was = entry_->state;
  while (was != State::GivenUp)
    if (entry_->state.compare_exchange_weak(was, next)) return true;
  return false;
}

bool OpenConnections::behind() const {
  return count() >= limit_ + most_leaving(limit_);
}

OpenConnections::Entrance OpenConnections::enter(const boost::asio::ip::address& peer, int worker,
                                                 Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (behind()) return {};
  const auto of_peer = peers_.try_emplace(peer).first;
  ++of_peer->second.connections;  // the newcomer counts
  Entrance entrance;
  if (count() - leaving_ >= limit_) {
    entrance.victim = give_up_one(of_peer, now);
    if (!entrance.victim) {
      --of_peer->second.connections;
      if (of_peer->second.entries == 0) peers_.erase(of_peer);
      return {};
    }
  }
  const auto entry = entries_.emplace(entries_.end());
  entry->id = next_id_++;
  entry->worker = worker;
  entry->peer = of_peer;
  entry->since = now;
  ++of_peer->second.entries;
  ++count_;
  entrance.ticket.emplace(Ticket(*this, entry));
  return entrance;
}

std::optional<OpenConnections::Victim> OpenConnections::give_up_one(Peers::iterator newcomer,
                                                                    Clock::time_point now) {
  const auto cause = [](const Entry& entry, State state) {
    if (!entry.used) return Eviction::Unused;
    return state == State::Idle ? Eviction::Idle : Eviction::Unfinished;
  };
  // The greatest goes. Among addresses that have as many as the newcomer's, the newcomer's pays.
  const auto rank = [&](const Entry& entry, State state) {
    const Eviction why = cause(entry, state);
    const Clock::duration age = now - entry.since.load();
    const int turn = why == Eviction::Unused ? 3 : why == Eviction::Idle ? 1 : age > kHonest ? 2 : 0;
    return std::tuple(entry.peer->second.connections, entry.peer == newcomer, turn, age);
  };
  // A connection may go on between the search and the exchange; then the search begins again.
  for (int tries = 0; tries < kTries; ++tries) {
    auto payer = entries_.end();
    State its_state{};
    std::tuple<int, bool, int, Clock::duration> greatest{};
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      const State state = entry->state;
      if (state == State::Answering || state == State::GivenUp) continue;
      const auto mine = rank(*entry, state);
      if (payer != entries_.end() && mine <= greatest) continue;
      payer = entry;
      its_state = state;
      greatest = mine;
    }
    if (payer == entries_.end()) return std::nullopt;
    const Victim victim{payer->worker, payer->id, cause(*payer, its_state), payer->peer->first};
    if (!payer->state.compare_exchange_strong(its_state, State::GivenUp)) continue;
    --payer->peer->second.connections;
    ++leaving_;
    return victim;
  }
  return std::nullopt;
}

void OpenConnections::leave(std::list<Entry>::iterator entry) {
  const std::lock_guard lock(mutex_);
  const auto peer = entry->peer;
  --(entry->state == State::GivenUp ? leaving_ : peer->second.connections);
  if (--peer->second.entries == 0) peers_.erase(peer);
  entries_.erase(entry);
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
