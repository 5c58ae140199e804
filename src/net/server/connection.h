// SPDX-License-Identifier: Apache-2.0
// Connection: a socket with or without TLS. It waits for readiness and reads into the caller's memory, so an
// idle connection holds no buffer, and OpenSSL works on the socket itself instead of through two more copies.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <string>
#include <string_view>

#include "tls/openssl.h"

namespace nccl_env::net {

// The address of an IPv4 client of a dual-stack socket, as people know it: 10.0.0.1, not ::ffff:10.0.0.1.
boost::asio::ip::tcp::endpoint unmapped(boost::asio::ip::tcp::endpoint peer);

// Everything on the thread of the socket's executor; one operation at a time.
class Connection {
 public:
  // `context`: null for plain; referenced by the connection from now on.
  Connection(boost::asio::ip::tcp::socket socket, SSL_CTX* context);
  Connection(const Connection&) = delete;  // OpenSSL knows where it is
  Connection& operator=(const Connection&) = delete;

  // Returns true once encrypted (at once if plain), false if that failed; then handshake_error() holds
  // OpenSSL's reason, if it gave one.
  boost::asio::awaitable<bool> handshake();
  // False for a client that has sent nothing. Only for an encrypted connection.
  [[nodiscard]] bool has_heard() const;
  [[nodiscard]] const std::string& handshake_error() const { return handshake_error_; }
  // True if the handshake failed because the client does not trust our certificate.
  [[nodiscard]] bool distrusted() const { return distrusted_; }

  // True when there may be something to read; false after abort(). `here`: some input has been read already;
  // that is pipelined, and waits while other connections have their turn.
  boost::asio::awaitable<bool> wait_input(bool here, std::chrono::milliseconds turn);
  // How many bytes came, at least one; 0: the client sends no more, or the connection is broken.
  boost::asio::awaitable<std::size_t> read_some(char* data, std::size_t size);
  // False: the connection is broken.
  boost::asio::awaitable<bool> write_all(std::string_view bytes);
  // Says that nothing more will be sent, then throws away what comes until the client closes, too: closing a
  // socket with unread bytes resets it, and a reset can overtake the reply.
  boost::asio::awaitable<void> close();

  // The operation in progress and all later ones fail. `reset`: what is still queued to be sent is dropped.
  // (Closing here would let the descriptor's number be used again while a read of it is still queued.)
  void abort(bool reset);

  // True if the client sent record after record and no byte of a request: the connection is of no use then.
  [[nodiscard]] bool flooded() const { return flooded_; }
  // True if bytes were sent that the client's side has not acknowledged.
  [[nodiscard]] bool has_unread_output();
  [[nodiscard]] std::string peer() const;

 private:
  enum class Io { Done, WantRead, WantWrite, Closed };
  struct IoResult {
    Io state;
    std::size_t bytes = 0;
  };

  static void count_record(int writes, int version, int type, const void* data, std::size_t size, SSL* ssl,
                           void* connection);
  IoResult try_read(char* data, std::size_t size);
  IoResult try_write(std::string_view bytes);
  Io ssl_state(int result) const;
  boost::asio::awaitable<bool> ready(Io wanted);

  boost::asio::ip::tcp::socket socket_;
  SslPtr ssl_;
  std::string handshake_error_;
  bool distrusted_ = false;
  bool aborted_ = false;
  bool flooded_ = false;
  int without_wait_ = 0;  // reads or records since the thread's other connections had their turn
  int idle_records_ = 0;  // TLS records since one brought a byte, or the handshake its end
};

}  // namespace nccl_env::net
