// SPDX-License-Identifier: Apache-2.0
// OpenConnections: who is connected, and who has to go when there is no place for one more
// (docs/reference/webhook.md).
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
  // Resting: may be told to go. InRequest: is being answered, stays. GivenUp: was told to go; this is final.
  enum class State { Resting, InRequest, GivenUp };
  // Connections of one address, without those that leave.
  struct Peer {
    int unused = 0, used = 0;
  };
  struct Entry {
    std::atomic<State> state{State::Resting};
    std::atomic<Clock::rep> resting_since{0};
    std::uint64_t id = 0;
    int worker = 0;
    boost::asio::ip::address peer;
    Peer* of_peer = nullptr;           // until it leaves
    std::list<Entry>* home = nullptr;  // the list that it stands in
  };

 public:
  // One connection, from accept to the socket's end. Its session alone calls it, on one thread.
  class Ticket {
   public:
    Ticket(Ticket&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), entry_(other.entry_), used_(other.used_) {}
    Ticket& operator=(Ticket&&) = delete;
    ~Ticket() {
      if (owner_ != nullptr) owner_->leave(entry_);
    }

    [[nodiscard]] std::uint64_t id() const { return entry_->id; }
    [[nodiscard]] const boost::asio::ip::address& peer() const { return entry_->peer; }
    // True if the connection has finished a request.
    [[nodiscard]] bool used() const { return used_; }
    [[nodiscard]] bool given_up() const { return entry_->state == State::GivenUp; }
    // From this call to end_request() the connection is not told to go. Returns false if it was told already.
    // Another call before end_request() changes nothing.
    bool begin_request();
    // `finished`: the request was of some use (its answer is not 4xx), and the connection is kept for
    // another.
    void end_request(bool finished);

   private:
    friend class OpenConnections;
    Ticket(OpenConnections& owner, std::list<Entry>::iterator entry) : owner_(&owner), entry_(entry) {}

    OpenConnections* owner_;
    std::list<Entry>::iterator entry_;
    bool used_ = false;
  };

  // The connection that has to go; its worker ends it.
  struct Victim {
    int worker;
    std::uint64_t id;
    Eviction cause;
  };
  struct Entrance {
    std::optional<Ticket> ticket;  // nothing: no other can go, or behind()
    std::optional<Victim> victim;
  };

  OpenConnections(int limit, int limit_per_peer) : limit_(limit), limit_per_peer_(limit_per_peer) {}
  OpenConnections(const OpenConnections&) = delete;
  OpenConnections& operator=(const OpenConnections&) = delete;

  Entrance enter(const boost::asio::ip::address& peer, int worker);
  [[nodiscard]] int count() const { return count_.load(std::memory_order_relaxed); }
  // True if no new connection is let in, because too many that were told to go have not gone yet.
  [[nodiscard]] bool behind() const;
  // True if more than half of the places are taken; then a silent connection has less time.
  [[nodiscard]] bool crowded() const { return count() > limit_ / 2; }
  bool wait_empty(std::chrono::milliseconds grace, std::chrono::milliseconds settle);
  void end_waits();  // ends waits, now and for good: they return false

 private:
  void leave(std::list<Entry>::iterator entry);
  void note_used(std::list<Entry>::iterator entry);
  std::optional<Victim> give_up_one(const boost::asio::ip::address* of_peer);
  std::optional<Victim> give_up_unused(const boost::asio::ip::address* of_peer);
  std::optional<Victim> give_up_idle(const boost::asio::ip::address* of_peer);
  static bool takes(Entry& entry);
  Victim give_up(std::list<Entry>::iterator entry, Eviction cause);
  void forget_peer(Entry& entry);
  void move(std::list<Entry>::iterator entry, std::list<Entry>& to);

  const int limit_, limit_per_peer_;
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable emptied_;
  std::list<Entry> unused_;  // never finished a request, oldest first
  std::list<Entry> used_;
  std::list<Entry> leaving_;  // given up, and not gone yet
  std::map<boost::asio::ip::address, Peer> per_peer_;
  std::atomic<int> count_{0};  // of all three lists; written under the mutex
  std::uint64_t next_id_ = 1;
  bool waits_ended_ = false;
  Clock::time_point empty_since_ = Clock::now();
};

}  // namespace nccl_env::net
