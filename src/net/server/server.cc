// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/net/server/server.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <csignal>
#include <thread>
#include <vector>

#include "nccl_env/base/container.h"
#include "server/session.h"
#include "server/worker.h"

namespace nccl_env::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptPause{100};  // descriptors come back when connections end
constexpr std::chrono::milliseconds kCatchUp{5};
constexpr int kMostWaits = 200;  // a second

Result<tcp::endpoint> parse_listen(const std::string& text) {
  const Error bad{"'" + text + "' is not ADDR:PORT with a numeric address, IPv6 in brackets, or :PORT"};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return bad;
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data() + colon + 1, end, port);
  if (failed != std::errc() || stop != end) return bad;
  std::string address = text.substr(0, colon);
  if (address.empty()) return tcp::endpoint(tcp::v6(), port);
  const bool bracketed = address.size() > 2 && address.front() == '[' && address.back() == ']';
  if (bracketed) address = address.substr(1, address.size() - 2);
  error_code error;
  const auto parsed = asio::ip::make_address(address, error);
  if (error || parsed.is_v6() != bracketed) return bad;
  return tcp::endpoint(parsed, port);
}

Status open_acceptor(tcp::acceptor& acceptor, const std::string& listen) {
  auto endpoint = parse_listen(listen);
  if (!endpoint) return endpoint.error();
  error_code error;
  acceptor.open(endpoint->protocol(), error);
  const bool any = listen.front() == ':';
  if (error && any) {  // a host without IPv6
    *endpoint = tcp::endpoint(tcp::v4(), endpoint->port());
    acceptor.open(endpoint->protocol(), error);
  }
  if (!error && endpoint->protocol() == tcp::v6()) {
    acceptor.set_option(asio::ip::v6_only(!any), error);
  }
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(*endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error == asio::error::address_in_use)
    return Error{"can't listen on " + listen +
                 ": another program does (ss -ltnp says which): Address already in use"};
  if (error) return Error{"can't listen on " + listen + ": " + error.message()};
  return done();
}

// Signals are for main's thread; and OpenSSL's write(2) to a closed connection must not raise SIGPIPE.
void block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD}) {
    sigaddset(&signals, number);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

void run_worker(Worker& worker) {
  block_signals();
  for (;;) {
    try {
      worker.io.run();
      return;
    } catch (const std::exception& error) {  // out of memory while a connection was set up
      worker.warn("server thread goes on after an exception", {{"error", error.what()}});
    }
  }
}

asio::awaitable<void> run_session(std::unique_ptr<Session> session) {
  co_await session->run();
}

void start_session(Worker& worker, tcp::socket socket, OpenConnections::Ticket ticket) {
  auto session = std::make_unique<Session>(worker, std::move(socket), std::move(ticket));
  asio::co_spawn(worker.io, run_session(std::move(session)), [&worker](std::exception_ptr failure) {
    if (failure) worker.warn("a connection ended with an exception", {});
  });
}

}  // namespace

struct Server::Body {
  ServerShared shared;
  std::vector<std::unique_ptr<Worker>> workers;
  Worker door;  // accepts and serves nobody, so that no connection's work delays a new one
  tcp::acceptor acceptor;
  std::vector<asio::executor_work_guard<asio::io_context::executor_type>> guards;
  std::vector<std::thread> threads;
  std::uint16_t port = 0;

  static std::vector<std::unique_ptr<Worker>> make_workers(ServerShared& shared) {
    std::vector<std::unique_ptr<Worker>> out;
    out.reserve(static_cast<std::size_t>(shared.options.threads));
    for (int i = 0; i < shared.options.threads; ++i) out.push_back(std::make_unique<Worker>(shared, i));
    return out;
  }

  Body(ServerOptions options, ServerHandlers handlers)
      : shared(std::move(options), std::move(handlers)),
        workers(make_workers(shared)),
        door(shared, -1),
        acceptor(door.io) {
    if (!shared.handlers.handle_later) return;
    shared.waiting = std::make_unique<WaitingPool>(shared.options.waiting_threads,
                                                   shared.options.waiting_queue, block_signals);
    if (!shared.handlers.one_at_a_time) return;
    shared.one_at_a_time = std::make_unique<WaitingPool>(1, shared.options.waiting_queue, block_signals);
  }

  // Called when accept fails, mostly for want of descriptors: other connections may free some.
  asio::awaitable<void> pause_accepting(error_code error) {
    Worker::count(door.counters.accept_errors);
    door.warn("can't accept connections", {{"error", error.message()}});
    asio::steady_timer timer(door.io, kAcceptPause);
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }

  // Waits while event loops end connections that have to go; the kernel keeps new ones meanwhile. Not for
  // long: one loop that is held up must not hold up the others.
  asio::awaitable<void> let_loops_catch_up() {
    asio::steady_timer timer(door.io);
    for (int waits = 0; shared.open.behind() && waits < kMostWaits; ++waits) {
      timer.expires_after(kCatchUp);
      co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    }
  }

  asio::awaitable<void> accept_connections() {
    for (std::size_t next = 0; acceptor.is_open(); next = (next + 1) % workers.size()) {
      Worker& worker = *workers[next];
      auto [error, socket] = co_await acceptor.async_accept(worker.io, asio::as_tuple(asio::use_awaitable));
      if (!acceptor.is_open()) co_return;
      if (error) {
        co_await pause_accepting(error);
        continue;
      }
      co_await let_loops_catch_up();
      if (!acceptor.is_open()) co_return;
      const auto peer = unmapped(socket.remote_endpoint(error));
      if (error) continue;  // it has gone already
      auto entrance = shared.open.enter(peer.address(), worker.index, Clock::now());
      if (entrance.victim) end_connection(*entrance.victim);
      if (!entrance.ticket) {
        Worker::count(door.counters.refused);
        door.warn("connection refused: too many are being answered", {{"peer", peer.address().to_string()}});
        continue;
      }
      Worker::count(door.counters.accepted);
      asio::post(worker.io, [&worker, s = std::move(socket), t = *std::move(entrance.ticket)]() mutable {
        start_session(worker, std::move(s), std::move(t));
      });
    }
  }

  // Makes room. The victim's worker has its session by now: the session was posted to the same queue before.
  void end_connection(const OpenConnections::Victim& victim) {
    Worker& worker = *workers[static_cast<std::size_t>(victim.worker)];
    asio::post(worker.io, [&worker, victim] { worker.end(victim); });
    door.count_eviction(victim.cause);
    door.warn("a connection goes for a new one", {{"cause", to_string(victim.cause)},
                                                  {"limit", shared.options.max_connections},
                                                  {"peer", victim.peer.to_string()}});
  }

  void run() {
    guards.push_back(asio::make_work_guard(door.io));
    for (const auto& worker : workers) {
      guards.push_back(asio::make_work_guard(worker->io));
      worker->begin_beating();
    }
    asio::co_spawn(door.io, accept_connections(), asio::detached);
    threads.emplace_back([this] { run_worker(door); });
    for (const auto& worker : workers) {
      threads.emplace_back([w = worker.get()] { run_worker(*w); });
    }
  }

  void stop() {
    if (threads.empty()) return;
    shared.stopping = true;
    shared.open.end_waits();
    asio::post(door.io, [this] {
      error_code ignored;
      acceptor.close(ignored);
    });
    for (const auto& worker : workers) asio::post(worker->io, [w = worker.get()] { w->stop(); });
    if (shared.waiting) shared.waiting->stop();
    if (shared.one_at_a_time) shared.one_at_a_time->stop();
    // The thread that accepts ends first: no connection stays in the queue of a thread that has ended.
    for (std::size_t i = 0; i < threads.size(); ++i) {
      guards[i].reset();
      threads[i].join();
    }
    threads.clear();
  }
};

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, ServerHandlers handlers) {
  if (options.threads <= 0) options.threads = default_threads();
  if (options.max_header > kInputCapacity) {
    return Error{"max_header: at most " + std::to_string(kInputCapacity) + " bytes"};
  }
  auto body = std::make_unique<Body>(std::move(options), std::move(handlers));
  if (const Status open = open_acceptor(body->acceptor, body->shared.options.listen); !open)
    return open.error();
  error_code error;
  body->port = body->acceptor.local_endpoint(error).port();
  body->run();
  return std::unique_ptr<Server>(new Server(std::move(body)));
}

Server::Server(std::unique_ptr<Body> body) : body_(std::move(body)) {}
Server::~Server() {
  stop();
}

std::uint16_t Server::port() const {
  return body_->port;
}

void Server::begin_drain() {
  body_->shared.draining.store(true, std::memory_order_relaxed);
}

bool Server::wait_drained(std::chrono::milliseconds grace, std::chrono::milliseconds settle) {
  return body_->shared.open.wait_empty(grace, settle);
}

void Server::stop() {
  body_->stop();
}

std::string Server::held_up(std::chrono::seconds longest) const {
  if (body_->shared.stopping) return {};
  for (const auto& worker : body_->workers) {
    const auto since = std::chrono::floor<std::chrono::seconds>(worker->held_up());
    if (since < longest) continue;
    return "event loop " + std::to_string(worker->index + 1) + " of " +
           std::to_string(body_->workers.size()) + " on port " + std::to_string(body_->port) +
           " has been held up for " + std::to_string(since.count()) + " s";
  }
  return {};
}

ServerStats Server::stats() const {
  ServerStats sum;
  sum.connections_open = static_cast<std::uint64_t>(body_->shared.open.count());
  const auto add = [&](const Worker::Counters& c) {
    sum.connections_accepted += c.accepted.load(std::memory_order_relaxed);
    sum.connections_refused += c.refused.load(std::memory_order_relaxed);
    sum.accept_errors += c.accept_errors.load(std::memory_order_relaxed);
    sum.handshakes_failed += c.handshakes_failed.load(std::memory_order_relaxed);
    sum.deadline_closes += c.deadline_closes.load(std::memory_order_relaxed);
    sum.handler_exceptions += c.handler_exceptions.load(std::memory_order_relaxed);
    sum.bytes_received += c.bytes_received.load(std::memory_order_relaxed);
    sum.bytes_sent += c.bytes_sent.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < sum.connections_evicted.size(); ++i) {
      sum.connections_evicted[i] += c.evicted[i].load(std::memory_order_relaxed);
    }
    for (std::size_t i = 0; i < sum.responses.size(); ++i) {
      sum.responses[i] += c.responses[i].load(std::memory_order_relaxed);
    }
  };
  add(body_->door.counters);
  for (const auto& worker : body_->workers) add(worker->counters);
  return sum;
}

std::string listen_problem(const std::string& listen) {
  const auto parsed = parse_listen(listen);
  return parsed ? "" : parsed.error().message;
}

}  // namespace nccl_env::net
