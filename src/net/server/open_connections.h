// SPDX-License-Identifier: Apache-2.0
// OpenConnections: who is connected, and who has to go when there is no place for one more: a connection of
// the address that has most of them (docs/reference/webhook.md#strangers). So no address can keep out another
// one that holds less, whatever its clients send.
#pragma once

#include <atomic>
#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "nccl_env/net/server/eviction.h"

namespace nccl_env::net {

using Clock = std::chrono::steady_clock;

class OpenConnections {
  struct Peer {
    int connections = 0;  // without those that were told to go
    int entries = 0;      // with them
    std::atomic<std::int64_t> large_bytes{0};
    std::atomic<int> patient{0};
  };
  using Peers = std::map<boost::asio::ip::address, Peer>;
  struct Entry;

 public:
  // Unfinished: a request has begun and is not whole, or its reply is not taken yet. GivenUp: was told to go,
  // which is final.
  enum class State { Idle, Unfinished, Answering, GivenUp };

  // One connection, from accept to the socket's end. Its session alone calls it, on one thread.
  class Ticket {
   public:
    Ticket(Ticket&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), entry_(other.entry_) {}
    Ticket& operator=(Ticket&&) = delete;
    ~Ticket() {
      if (owner_ != nullptr) owner_->leave(entry_);
    }

    [[nodiscard]] std::uint64_t id() const { return entry_->id; }
    [[nodiscard]] const boost::asio::ip::address& peer() const { return entry_->peer->first; }
    // Bytes of the room for large bodies that all connections of this address hold.
    [[nodiscard]] std::atomic<std::int64_t>& large_bytes() { return entry_->peer->second.large_bytes; }
    // Requests of this address that wait for the part that comes by itself.
    [[nodiscard]] std::atomic<int>& patient() { return entry_->peer->second.patient; }
    [[nodiscard]] bool given_up() const { return entry_->state == State::GivenUp; }
    [[nodiscard]] bool used() const { return entry_->used; }
    // Says that a request was of some use: its answer is not 4xx, and the connection is kept for another.
    void set_used() { entry_->used = true; }
    // Changes nothing, and returns false, if the connection was told to go.
    bool enter(State next, Clock::time_point now);

   private:
    friend class OpenConnections;
    Ticket(OpenConnections& owner, std::list<Entry>::iterator entry) : owner_(&owner), entry_(entry) {}

    OpenConnections* owner_;
    std::list<Entry>::iterator entry_;
  };

  // The connection that has to go; its worker ends it.
  struct Victim {
    int worker;
    std::uint64_t id;
    Eviction cause;
    boost::asio::ip::address peer;  // that has most connections
  };
  struct Entrance {
    std::optional<Ticket> ticket;  // nothing: all others are being answered, or behind()
    std::optional<Victim> victim;
  };

  explicit OpenConnections(int limit) : limit_(limit) {}
  OpenConnections(const OpenConnections&) = delete;
  OpenConnections& operator=(const OpenConnections&) = delete;

  Entrance enter(const boost::asio::ip::address& peer, int worker, Clock::time_point now);
  [[nodiscard]] int count() const { return count_.load(std::memory_order_relaxed); }
  // True if no new connection is let in, because too many that were told to go have not gone yet.
  [[nodiscard]] bool behind() const;
  bool wait_empty(std::chrono::milliseconds grace, std::chrono::milliseconds settle);
  void end_waits();  // ends waits, now and for good: they return false

 private:
  struct Entry {
    std::uint64_t id = 0;
    int worker = 0;
    Peers::iterator peer;
    std::atomic<State> state{State::Idle};
    std::atomic<Clock::time_point> since{};  // of `state`; until it is used, of the connection
    std::atomic<bool> used{false};
  };

  void leave(std::list<Entry>::iterator entry);
  std::optional<Victim> give_up_one(Peers::iterator newcomer, Clock::time_point now);

  const int limit_;
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable emptied_;
  std::list<Entry> entries_;  // oldest first
  Peers peers_;
  int leaving_ = 0;            // entries that were given up, and have not gone yet
  std::atomic<int> count_{0};  // of the entries; written under the mutex
  std::uint64_t next_id_ = 1;
  bool waits_ended_ = false;
  Clock::time_point empty_since_ = Clock::now();
};

}  // namespace nccl_env::net
