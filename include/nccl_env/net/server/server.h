// SPDX-License-Identifier: Apache-2.0
// Server: HTTP/1.1 over TLS or plain, answers from memory. docs/reference/webhook.md states its limits and
// the reasons.
//
//   [ Server ] ----> [ ServerShared ]: options, handlers, [ OpenConnections ], [ WaitingPool ]
//      |                   ^
//      +----> [ Worker ]* -+          one thread and one event loop each
//                ^  :
//                |  : LiveSession*    knows its sessions, to end them; does not own them
//                |  v
//             [ Session ]             owned by its coroutine; runs on its worker alone
//                +--> [ Connection ], [ RequestParser ], a Ticket of OpenConnections
//                +--> RequestBuffers, lent by the worker while a request is in progress
//
// Bytes become a request, a request an answer, an answer bytes; nothing of it stays but the buffers. What
// workers share is atomic, or behind the mutex of OpenConnections and of WaitingPool.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "nccl_env/net/server/eviction.h"
#include "nccl_env/net/server/server_options.h"
#include "nccl_env/result.h"

namespace nccl_env::net {

// Says what is wrong with an address for ServerOptions::listen; "" if nothing.
std::string listen_problem(const std::string& listen);

// Sums since the start, except connections_open.
struct ServerStats {
  std::uint64_t connections_open = 0;
  std::uint64_t connections_accepted = 0;
  std::uint64_t connections_refused = 0;                        // over a limit, and no other could be closed
  std::array<std::uint64_t, kEvictions> connections_evicted{};  // by Eviction
  std::uint64_t accept_errors = 0;                              // mostly: out of descriptors
  std::uint64_t handshakes_failed = 0;
  std::uint64_t deadline_closes = 0;  // ended by a time-out other than idle or linger
  std::uint64_t handler_exceptions = 0;
  std::uint64_t bytes_received = 0;  // of HTTP, without TLS
  std::uint64_t bytes_sent = 0;
  std::array<std::uint64_t, 6> responses{};  // by status class: [2] is 2xx
};

class Server {
 public:
  // Listens and starts the threads. The handlers may be called before this returns.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, ServerHandlers handlers);
  ~Server();  // stops
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] ServerStats stats() const;
  // Names, in a sentence, an event loop that one piece of work has held up for `longest` (at least 2 s); ""
  // if there is none.
  [[nodiscard]] std::string held_up(std::chrono::seconds longest) const;

  // From now on every reply says `Connection: close`. New connections are still accepted: clients learn late
  // that the endpoint goes.
  void begin_drain();
  // To be called after begin_drain. Waits, at most for `grace`, until no connection has been open for
  // `settle`; returns true if that came about. stop() ends the wait. Idle connections are left alone: their
  // clients would lose what they just sent.
  bool wait_drained(std::chrono::milliseconds grace, std::chrono::milliseconds settle = {});
  // Closes everything and joins the threads. Idempotent; not from a handler.
  void stop();

 private:
  struct Body;
  explicit Server(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace nccl_env::net
