// SPDX-License-Identifier: Apache-2.0
// Session: one connection's requests, in order, until it ends.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "server/connection.h"
#include "server/request_parser.h"
#include "server/worker.h"

namespace nccl_env::net {

class Session : public LiveSession {
 public:
  // On the worker's thread; from here on the worker knows the session.
  Session(Worker& worker, boost::asio::ip::tcp::socket socket, OpenConnections::Ticket ticket);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Returns when the connection has ended. Must be run to its end before the session is destroyed.
  boost::asio::awaitable<void> run();

  [[nodiscard]] std::uint64_t id() const override { return ticket_.id(); }
  void abort() override { connection_.abort(false); }
  void end_if_late(Clock::time_point now) override;
  void give_up() override;

 private:
  enum class Stage { Handshake, Idle, Header, Body, Write, Linger };

  boost::asio::awaitable<bool> serve_one();
  boost::asio::awaitable<bool> read_head(std::optional<HttpResponse>& refused);
  boost::asio::awaitable<bool> read_body(BodyRoom& room, std::optional<HttpResponse>& refused);
  boost::asio::awaitable<bool> read_sized(BodyRoom& room, std::optional<HttpResponse>& refused);
  boost::asio::awaitable<bool> read_chunked(BodyRoom& room, std::optional<HttpResponse>& refused);
  boost::asio::awaitable<bool> read_input();
  boost::asio::awaitable<bool> reply(HttpResponse response, bool keep, BodyRoom& room);

  [[nodiscard]] std::uint64_t client_changes() const;
  void enter(Stage stage);
  std::optional<HttpResponse> parse_head(std::size_t length);
  std::optional<HttpResponse> check_head();
  Handled answer(bool awaited);
  boost::asio::awaitable<Handled> answer_patiently(std::function<bool()> comes);
  HttpResponse answer_overload();
  boost::asio::awaitable<HttpResponse> answer_later();
  [[nodiscard]] HttpRequest request(int thread, bool awaited = false) const;
  template <class Call>
  auto guarded(Call call) -> decltype(call());

  Worker& worker_;
  OpenConnections::Ticket ticket_;
  const std::uint64_t client_changes_;  // before the connection's context was taken
  Connection connection_;
  RequestParser parser_;
  RequestHead head_;
  std::unique_ptr<RequestBuffers> buffers_;  // null while idle
  std::string_view body_;                    // in buffers_, with kBodyPadding readable bytes behind it
  bool alone_ = false;                       // the request in progress is answered one at a time
  Stage stage_ = Stage::Handshake;
  Clock::time_point deadline_;
  Clock::time_point unread_check_ = Clock::time_point::max();  // of the last reply
};

}  // namespace nccl_env::net
