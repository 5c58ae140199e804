// SPDX-License-Identifier: Apache-2.0
// State that the server's threads share, and state that each of them owns.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nccl_env/net/server/server_options.h"
#include "server/open_connections.h"
#include "server/waiting_pool.h"

namespace nccl_env::net {

// A session as its worker sees it: something to end.
class LiveSession {
 public:
  virtual ~LiveSession() = default;
  [[nodiscard]] virtual std::uint64_t id() const = 0;  // the ticket's number
  virtual void abort() = 0;
  virtual void end_if_late(Clock::time_point now) = 0;
  // Ends the connection, whose answer is not being made, to make room for another one.
  virtual void give_up() = 0;
};

// Memory of a request's body, and then of its reply, beyond the first 64 KiB, for all connections together.
// An address may hold as much as it leaves, so that room stays for one that holds less.
class BodyRoom {
 public:
  BodyRoom(std::atomic<std::int64_t>& left, std::atomic<std::int64_t>& of_peer)
      : left_(left), of_peer_(of_peer) {}
  BodyRoom(const BodyRoom&) = delete;
  BodyRoom& operator=(const BodyRoom&) = delete;
  ~BodyRoom() { take(-taken_); }

  // Reserves memory for `bytes` of body or reply; false: there is no room.
  bool cover(std::size_t bytes);

 private:
  bool take(std::int64_t more);

  std::atomic<std::int64_t>&left_, &of_peer_;
  std::int64_t taken_ = 0;
};

// A request's place among those that wait for what comes by itself.
class Patience {
 public:
  Patience(std::atomic<int>& all, std::atomic<int>& of_peer) : all_(all), of_peer_(of_peer) {
    const bool one_of_all = ++all_ <= kMostPatient, one_of_peer = ++of_peer_ <= kMostPatientOfPeer;
    granted_ = one_of_all && one_of_peer;
  }
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;
  ~Patience() { --all_, --of_peer_; }

  [[nodiscard]] bool granted() const { return granted_; }

 private:
  std::atomic<int>&all_, &of_peer_;
  bool granted_ = false;
};

struct ServerShared {
  ServerShared(ServerOptions its_options, ServerHandlers its_handlers);

  const ServerOptions options;
  const ServerHandlers handlers;
  OpenConnections open;
  std::atomic<bool> draining{false};
  std::atomic<bool> stopping{false};
  std::atomic<std::int64_t> body_room{0};
  std::atomic<int> patient{0};                 // requests that wait for what comes by itself
  std::unique_ptr<WaitingPool> waiting;        // null without handle_later
  std::unique_ptr<WaitingPool> one_at_a_time;  // of one thread; null without one_at_a_time
};

constexpr std::size_t kInputCapacity =
    32 * 1024;  // header and body of a GPU pod's review (8–20 KiB) in one read
constexpr std::size_t kSmallBody = 64 * 1024;  // three such reviews: a body up to here needs no BodyRoom

// The memory of a request in progress; an idle connection has none.
struct RequestBuffers {
  std::unique_ptr<char[]> input = std::make_unique<char[]>(kInputCapacity + kBodyPadding);
  std::size_t begin = 0, end = 0;  // unread input
  std::string body;                // at least kBodyPadding longer than the body
  std::string reply;

  [[nodiscard]] std::string_view unread() const { return {input.get() + begin, end - begin}; }
  void consume(std::size_t bytes);
  // Moves the unread bytes to the front; then `end` … kInputCapacity is free.
  void compact();
  // Frees large bodies and replies, which no BodyRoom covers between requests.
  void trim();
};

// One thread with its io_context. All members but the atomics and `io` belong to that thread.
class Worker {
 public:
  struct Counters {
    std::atomic<std::uint64_t> accepted{0}, refused{0}, accept_errors{0}, handshakes_failed{0},
        deadline_closes{0}, handler_exceptions{0}, bytes_received{0}, bytes_sent{0};
    std::array<std::atomic<std::uint64_t>, 6> responses{};
    std::array<std::atomic<std::uint64_t>, kEvictions> evicted{};
  };

  Worker(ServerShared& shared_state, int thread_index);

  void add(LiveSession& session);
  void remove(const LiveSession& session);
  // Ends a connection, unless it has ended.
  void end(const OpenConnections::Victim& victim);
  // Called before the thread begins: from then on the loop records that it is running.
  void begin_beating();
  // How long the loop has been held up by one piece of work; up to about a second is normal. Any thread may
  // ask.
  [[nodiscard]] Clock::duration held_up() const;
  // Aborts all sessions; later ones end at once.
  void stop();
  [[nodiscard]] bool stopping() const { return stopping_; }

  std::unique_ptr<RequestBuffers> take_buffers();
  void give_buffers(std::unique_ptr<RequestBuffers> buffers);

  // Writes at most one line a second: what a stranger causes must not fill the log.
  void warn(std::string_view message, Logger::Fields fields);

  void count_eviction(Eviction cause) { count(counters.evicted[static_cast<std::size_t>(cause)]); }
  static void count(std::atomic<std::uint64_t>& counter, std::uint64_t amount = 1) {
    counter.fetch_add(amount, std::memory_order_relaxed);
  }

  ServerShared& shared;
  const int index;
  Counters counters;
  boost::asio::io_context io{1};

 private:
  void sweep_later();
  void beat();

  bool stopping_ = false;
  bool sweeping_ = false;
  std::chrono::milliseconds sweep_interval_;
  boost::asio::steady_timer sweep_timer_;
  boost::asio::steady_timer beat_timer_;
  std::atomic<Clock::rep> last_beat_{Clock::now().time_since_epoch().count()};
  std::unordered_map<std::uint64_t, LiveSession*> sessions_;  // by id()
  std::vector<std::unique_ptr<RequestBuffers>> free_;
  Clock::time_point next_log_{};
  std::uint64_t lines_suppressed_ = 0;
};

}  // namespace nccl_env::net
