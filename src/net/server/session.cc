// SPDX-License-Identifier: Apache-2.0
#include "server/session.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>

#include "server/reply.h"

namespace nccl_env::net {
namespace {

namespace asio = boost::asio;

HttpResponse closing(int status, std::string_view sentence) {
  HttpResponse response = error_response(status, sentence);
  response.close = true;
  return response;
}

}  // namespace

Session::Session(Worker& worker, asio::ip::tcp::socket socket, OpenConnections::Ticket ticket)
    : worker_(worker),
      ticket_(std::move(ticket)),
      client_changes_(client_changes()),
      connection_(std::move(socket),
                  worker.shared.options.tls ? worker.shared.options.tls->current()->native() : nullptr) {
  enter(Stage::Handshake);
  worker_.add(*this);
  if (worker_.stopping()) abort();
}

std::uint64_t Session::client_changes() const {
  const auto& tls = worker_.shared.options.tls;
  return tls ? tls->client_changes() : 0;
}

Session::~Session() {
  worker_.remove(*this);
  worker_.give_buffers(std::move(buffers_));
}

void Session::enter(Stage stage) {
  const ServerOptions& options = worker_.shared.options;
  const auto allowed = [&] {
    switch (stage) {
      case Stage::Handshake:
        return options.handshake_timeout;
      case Stage::Idle:
        return options.idle_timeout;
      case Stage::Header:
        return options.header_timeout;
      case Stage::Body:
        return options.body_timeout;
      case Stage::Write:
        return options.write_timeout;
      case Stage::Linger:
        return options.linger_timeout;
    }
    return options.linger_timeout;
  }();
  const auto now = Clock::now();
  stage_ = stage;
  deadline_ = now + allowed;
  if (stage == Stage::Idle) ticket_.enter(OpenConnections::State::Idle, now);
  if (stage == Stage::Header || stage == Stage::Write) ticket_.enter(OpenConnections::State::Unfinished, now);
}

void Session::end_if_late(Clock::time_point now) {
  if (stage_ == Stage::Idle && now >= unread_check_) {
    unread_check_ = Clock::time_point::max();  // once for each reply
    if (connection_.has_unread_output()) {
      worker_.count_eviction(Eviction::Unread);
      deadline_ = Clock::time_point::max();
      return connection_.abort(true);
    }
  }
  if (now < deadline_) return;
  deadline_ = Clock::time_point::max();
  const bool quiet = stage_ == Stage::Idle || stage_ == Stage::Linger;
  if (!quiet) Worker::count(worker_.counters.deadline_closes);
  connection_.abort(!quiet);
}

void Session::give_up() {
  deadline_ = Clock::time_point::max();
  const bool reply_on_its_way = stage_ == Stage::Linger || (stage_ == Stage::Idle && ticket_.used());
  connection_.abort(!reply_on_its_way);
}

asio::awaitable<void> Session::run() {
  const bool encrypted = co_await connection_.handshake();
  if (!encrypted) {
    if (ticket_.given_up()) co_return;
    if (connection_.has_heard())
      Worker::count(worker_.counters.handshakes_failed);  // else a probe of the port
    if (const auto& distrusted = worker_.shared.handlers.distrusted; distrusted && connection_.distrusted())
      distrusted();
    if (!connection_.handshake_error().empty()) {
      worker_.warn("TLS handshake failed",
                   {{"peer", connection_.peer()}, {"error", connection_.handshake_error()}});
    }
    co_return;
  }
  for (bool open = true; open;) open = co_await serve_one();
  if (connection_.flooded()) {
    worker_.warn("a connection ended: TLS records without a request", {{"peer", connection_.peer()}});
  }
  worker_.give_buffers(std::move(buffers_));
  enter(Stage::Linger);
  co_await connection_.close();
}

// One request and its reply; false if the connection is to be closed.
asio::awaitable<bool> Session::serve_one() {
  std::optional<HttpResponse> refused;
  const bool complete = co_await read_head(refused);
  if (!complete) co_return false;
  if (!refused) refused = check_head();
  // Answers a client of a withdrawn CA once more: the request may be that of an API server which has a new
  // one.
  const bool may_stay =
      worker_.shared.options.keep_alive && head_.keep_alive && client_changes_ == client_changes();
  bool keep = may_stay && !(refused && head_.has_body());
  BodyRoom room(worker_.shared.body_room, ticket_.large_bytes());
  if (!refused) {
    const bool received = co_await read_body(room, refused);
    if (!received) co_return false;
    keep = keep && !refused;
  }
  if (!ticket_.enter(OpenConnections::State::Answering, Clock::now())) co_return false;
  // Uses variables, since GCC 12 destroys a conditional temporary inside co_await's expression twice.
  Handled handled = refused ? Handled(std::move(refused)) : answer(false);
  if (handled.comes) {
    Handled then = co_await answer_patiently(std::move(handled.comes));
    handled = std::move(then);
  }
  if (!handled.response) {
    HttpResponse later = co_await answer_later();
    handled.response = std::move(later);
  }
  keep = co_await reply(*std::move(handled.response), keep, room);
  if (buffers_->unread().empty()) {
    worker_.give_buffers(std::move(buffers_));
  } else {
    buffers_->trim();
  }
  co_return keep;
}

// False if the client closed, or was late, before it sent a whole header.
asio::awaitable<bool> Session::read_head(std::optional<HttpResponse>& refused) {
  head_ = RequestHead{};
  // A connection's first request has the idle time, too: clients open connections in reserve.
  enter(Stage::Idle);
  const bool input = co_await connection_.wait_input(buffers_ != nullptr, worker_.shared.options.turn);
  if (!input) co_return false;
  if (!buffers_) buffers_ = worker_.take_buffers();
  const std::size_t limit = worker_.shared.options.max_header;
  for (std::size_t searched = 0;;) {
    const std::string_view bytes = buffers_->unread();
    if (!bytes.empty() && stage_ == Stage::Idle) enter(Stage::Header);
    const HeaderEnd end = find_header_end(bytes, searched);
    if (end.malformed) {
      refused = closing(400, "malformed HTTP request");
    } else if (end.length > limit || (end.length == 0 && bytes.size() >= limit)) {
      refused = closing(431, "the header is larger than " + std::to_string(limit) + " bytes");
    } else if (end.length > 0) {
      refused = parse_head(end.length);
    }
    if (refused || end.length > 0) co_return true;
    searched = bytes.size();
    const bool received = co_await read_input();
    if (!received) co_return false;
  }
}

std::optional<HttpResponse> Session::parse_head(std::size_t length) {
  const auto refusal = parser_.parse_header(buffers_->unread().substr(0, length), head_);
  buffers_->consume(length);
  if (refusal) return closing(refusal->status, refusal->sentence);
  return std::nullopt;
}

std::optional<HttpResponse> Session::check_head() {
  const std::size_t limit = worker_.shared.options.max_body;
  if (head_.content_length > limit) {
    return closing(413, "the body is larger than " + std::to_string(limit) + " bytes");
  }
  if (!worker_.shared.handlers.check) return std::nullopt;
  const HttpHead head{head_.method, head_.target, head_.content_type, worker_.index, head_.content_length};
  return guarded([&] { return worker_.shared.handlers.check(head); });
}

// False if the connection ended first. `refused`: the body isn't acceptable and was not read to its end.
asio::awaitable<bool> Session::read_body(BodyRoom& room, std::optional<HttpResponse>& refused) {
  enter(Stage::Body);
  if (head_.expect_continue && !head_.http10 && head_.has_body() && buffers_->unread().empty()) {
    const bool sent = co_await connection_.write_all("HTTP/1.1 100 Continue\r\n\r\n");
    if (!sent) co_return false;
  }
  bool received = false;
  if (head_.chunked) {
    received = co_await read_chunked(room, refused);
  } else {
    received = co_await read_sized(room, refused);
  }
  co_return received;
}

// A body that came whole with its header stays in the input buffer. Any other is read straight into the
// body's buffer, which grows with what came and not with what was announced.
asio::awaitable<bool> Session::read_sized(BodyRoom& room, std::optional<HttpResponse>& refused) {
  std::string& body = buffers_->body;
  const auto total = static_cast<std::size_t>(head_.content_length);
  if (total <= buffers_->unread().size()) {
    body_ = buffers_->unread().substr(0, total);
    buffers_->consume(total);
    co_return true;
  }
  std::size_t wanted = std::min(total, kSmallBody);
  // Makes a new string: the old one, if it grew, could get twice the size.
  if (body.size() < wanted + kBodyPadding) body = std::string(wanted + kBodyPadding, '\0');
  std::size_t size = std::min(wanted, buffers_->unread().size());
  std::memcpy(body.data(), buffers_->unread().data(), size);
  buffers_->consume(size);
  while (size < total) {
    if (size == wanted) {
      wanted = std::min(total, 2 * wanted);
      if (!room.cover(wanted + kBodyPadding)) {
        refused = closing(503, "too many large requests at once");
        co_return true;
      }
      if (body.size() < wanted + kBodyPadding) body.resize(wanted + kBodyPadding);
    }
    const std::size_t n = co_await connection_.read_some(body.data() + size, wanted - size);
    if (n == 0) co_return false;
    Worker::count(worker_.counters.bytes_received, n);
    size += n;
  }
  body_ = std::string_view(body.data(), size);
  co_return true;
}

asio::awaitable<bool> Session::read_chunked(BodyRoom& room, std::optional<HttpResponse>& refused) {
  std::string& body = buffers_->body;
  body.clear();
  body.reserve(kSmallBody + kBodyPadding);
  for (;;) {
    const auto progress = parser_.parse_chunks(buffers_->unread(), body, worker_.shared.options.max_body);
    buffers_->consume(progress.used);
    if (progress.refusal) {
      refused = closing(progress.refusal->status, progress.refusal->sentence);
    } else if (body.size() > kSmallBody && !room.cover(body.capacity())) {
      refused = closing(503, "too many large requests at once");
    } else if (!progress.complete && buffers_->unread().size() == kInputCapacity) {
      refused = closing(400, "bad chunk");
    }
    if (refused) co_return true;
    if (progress.complete) break;
    const bool received = co_await read_input();
    if (!received) co_return false;
  }
  const std::size_t size = body.size();
  body.resize(size + kBodyPadding);
  body_ = std::string_view(body.data(), size);
  co_return true;
}

// Reads more input behind the unread bytes; false if the connection ended. Precondition: the unread bytes
// don't fill the buffer.
asio::awaitable<bool> Session::read_input() {
  buffers_->compact();
  const std::size_t n =
      co_await connection_.read_some(buffers_->input.get() + buffers_->end, kInputCapacity - buffers_->end);
  buffers_->end += n;
  Worker::count(worker_.counters.bytes_received, n);
  co_return n > 0;
}

HttpRequest Session::request(int thread, bool awaited) const {
  return {head_.method, head_.target, head_.content_type, body_, thread, awaited};
}

Handled Session::answer(bool awaited) {
  const ServerHandlers& handlers = worker_.shared.handlers;
  return guarded([&]() -> Handled {
    const HttpRequest asked = request(worker_.index, awaited);
    alone_ = handlers.one_at_a_time && handlers.one_at_a_time(asked);
    return alone_ ? Handled(std::nullopt) : handlers.handle(asked);
  });
}

// Looks now and then, which holds no thread, whether what the answer lacks has come.
asio::awaitable<Handled> Session::answer_patiently(std::function<bool()> comes) {
  constexpr std::chrono::milliseconds kLook{10};
  const Patience place(worker_.shared.patient, ticket_.patient());
  if (!place.granted()) co_return answer_overload();
  deadline_ = Clock::time_point::max();
  const auto end = Clock::now() + kPatience;
  asio::steady_timer timer(worker_.io);
  while (Clock::now() < end && !worker_.stopping() && !comes()) {
    timer.expires_after(kLook);
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  co_return answer(true);
}

HttpResponse Session::answer_overload() {
  return guarded([&] { return worker_.shared.handlers.handle_overload(request(worker_.index)); });
}

// Has another thread answer. This coroutine waits for the answer even if the connection ends meanwhile, so
// all that the request refers to stays.
asio::awaitable<HttpResponse> Session::answer_later() {
  std::optional<HttpResponse> response;
  std::exception_ptr failure;
  asio::steady_timer answered(worker_.io, Clock::time_point::max());
  const auto job = [&](std::optional<int> thread) {
    try {
      const ServerOptions& options = worker_.shared.options;
      const int first = options.threads + (alone_ ? options.waiting_threads : 0);
      if (thread) response = worker_.shared.handlers.handle_later(request(first + *thread));
    } catch (...) {
      failure = std::current_exception();
    }
    asio::post(worker_.io, [&answered] { answered.cancel(); });
  };
  deadline_ = Clock::time_point::max();  // the handler's bound counts
  const auto& pool = alone_ ? worker_.shared.one_at_a_time : worker_.shared.waiting;
  if (pool) {
    pool->submit(ticket_.peer(), job);
    co_await answered.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  if (!failure && !response) co_return answer_overload();
  co_return guarded([&]() -> HttpResponse {
    if (failure) std::rethrow_exception(failure);
    return *std::move(response);
  });
}

template <class Call>
auto Session::guarded(Call call) -> decltype(call()) {
  std::string what = "unknown exception";
  try {
    return call();
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
  }
  Worker::count(worker_.counters.handler_exceptions);
  worker_.warn("handler failed", {{"target", head_.target}, {"error", what}});
  return error_response(500, "internal error");
}

// False if the connection is to be closed.
asio::awaitable<bool> Session::reply(HttpResponse response, bool keep, BodyRoom& room) {
  keep = keep && !response.close && !worker_.shared.draining.load(std::memory_order_relaxed);
  format_reply(response, {keep, head_.http10, head_.method == "HEAD"}, buffers_->reply);
  if (!room.cover(buffers_->reply.size())) {
    keep = false;
    std::string().swap(buffers_->reply);
    response = closing(503, "too many large replies at once");
    format_reply(response, {keep, head_.http10, head_.method == "HEAD"}, buffers_->reply);
  }
  // A client that does not read its reply must not hold the body or a second copy of the reply in memory.
  std::string().swap(response.body);
  if (buffers_->body.capacity() + buffers_->reply.capacity() > kSmallBody) std::string().swap(buffers_->body);
  const int status_class = std::clamp(response.status / 100, 0, 5);
  Worker::count(worker_.counters.responses[static_cast<std::size_t>(status_class)]);
  if (keep && status_class != 4) ticket_.set_used();
  enter(Stage::Write);
  const bool sent = co_await connection_.write_all(buffers_->reply);
  if (sent) Worker::count(worker_.counters.bytes_sent, buffers_->reply.size());
  unread_check_ = Clock::now() + worker_.shared.options.write_timeout;
  co_return sent&& keep;
}

}  // namespace nccl_env::net
