// SPDX-License-Identifier: Apache-2.0
// One connection to a server of ours without its threads: what it sends to a client, and what holds of that.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "fuzz/fuzz.h"
#include "server/session.h"

namespace nccl_env::fuzz {

namespace asio = boost::asio;

inline asio::awaitable<void> run_session(std::unique_ptr<net::Session> session) {
  co_await session->run();
}

inline void take_output(int client, std::string& output) {
  std::array<char, 4096> bytes;
  for (ssize_t n = 1; n > 0;) {
    n = ::recv(client, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n > 0) output.append(bytes.data(), static_cast<std::size_t>(n));
  }
}

// All that the server sends to a client that sends `input` in pieces of `step` bytes and then no more.
inline std::string converse(const net::ServerOptions& options, const net::ServerHandlers& handlers,
                            std::string_view input, std::size_t step) {
  net::ServerShared shared(options, handlers);
  net::Worker worker(shared, 0);
  std::array<int, 2> ends{};
  require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0, "there are descriptors");
  asio::ip::tcp::socket socket(worker.io);
  socket.assign(asio::ip::tcp::v4(), ends[0]);  // a session doesn't ask what kind of stream it has
  bool ended = false;
  asio::co_spawn(
      worker.io,
      run_session(std::make_unique<net::Session>(
          worker, std::move(socket), std::move(*shared.open.enter({}, 0, net::Clock::now()).ticket))),
      [&](const std::exception_ptr& failure) {
        require(!failure, "no exception leaves a session");
        ended = true;
      });
  std::string output;
  while (!input.empty()) {
    const std::string_view piece = input.substr(0, step);
    require(::send(ends[1], piece.data(), piece.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(piece.size()),
            "an open connection takes what comes");
    input.remove_prefix(piece.size());
    worker.io.poll();
    take_output(ends[1], output);
  }
  ::shutdown(ends[1], SHUT_WR);
  for (int i = 0; i < 1000 && !ended; ++i) {
    worker.io.poll();
    take_output(ends[1], output);
  }
  require(ended, "a session ends with its client");
  ::close(ends[1]);
  return output;
}

// Whether the client waited for it depends on what had come; it says nothing.
inline void drop_continues(std::string& output) {
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  for (std::size_t at = 0; (at = output.find(kContinue, at)) != output.npos;)
    output.erase(at, kContinue.size());
}

inline void check_replies(std::string_view output) {
  constexpr std::string_view kVersion = "HTTP/1.1 ", kLength = "\r\nContent-Length: ";
  bool closed = false;
  while (!output.empty()) {
    require(!closed, "nothing behind the last reply");
    require(output.starts_with(kVersion), "a reply begins where the one before ends");
    const std::size_t end = output.find("\r\n\r\n");
    require(end != output.npos, "a header is whole");
    const std::string_view header = output.substr(0, end);
    output.remove_prefix(end + 4);
    closed = header.find("\r\nConnection: close") != header.npos;
    const std::size_t at = header.find(kLength);
    require(at != header.npos, "a reply says its length");
    if (output.empty() || output.starts_with(kVersion)) continue;  // to HEAD
    const std::size_t length = std::stoul(std::string(header.substr(at + kLength.size())));
    require(output.size() >= length, "a body is whole");
    output.remove_prefix(length);
  }
}

// A header that is too long and malformed, too, is refused for what is seen first.
inline void forget_why_refused(std::string& output) {
  constexpr std::string_view kRefusal = "HTTP/1.1 4";
  const std::size_t at = output.find(kRefusal);
  if (at != output.npos) output.resize(at + kRefusal.size());
}

// `input` at once and in pieces: the replies are whole, and the same. No deadline passes meanwhile, however
// slow the machine is.
inline void check_conversation(net::ServerOptions options, const net::ServerHandlers& handlers,
                               std::string_view input) {
  for (auto* deadline : {&options.header_timeout, &options.body_timeout, &options.write_timeout,
                         &options.linger_timeout, &options.idle_timeout})
    *deadline = std::chrono::hours(1);
  options.turn = std::chrono::milliseconds(0);
  const std::size_t step = take_byte(input) + 1U;
  std::string whole = converse(options, handlers, input, input.size());
  std::string cut = converse(options, handlers, input, step);
  drop_continues(whole);
  drop_continues(cut);
  check_replies(whole);
  check_replies(cut);
  forget_why_refused(whole);
  forget_why_refused(cut);
  require(whole == cut, "cuts do not change the replies");
}

}  // namespace nccl_env::fuzz
