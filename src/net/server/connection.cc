// SPDX-License-Identifier: Apache-2.0
#include "server/connection.h"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

namespace nccl_env::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
constexpr int kFairReads = 32;  // 0.5 MiB of full records
// TLS records in a row that bring no byte of a request: as BoringSSL allows (Go: 16). No honest client sends
// two.
constexpr int kIdleRecords = 32;
// Those of a handshake, which may be cut small.
constexpr int kHandshakeRecords = 512;
// The kernel doubles it, for its own overhead. The kernel's default would take 4 MiB of replies that nobody
// reads.
constexpr int kSendBuffer = 64 * 1024;
constexpr int kUnacknowledgedMilliseconds = 10'000;  // as long as all other time-outs of a call

// Go, and with it the API server, says bad certificate; OpenSSL says unknown CA.
bool is_distrust(unsigned long error) {
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) return false;
  switch (ERR_GET_REASON(error)) {
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return true;
    default:
      return false;
  }
}

}  // namespace

tcp::endpoint unmapped(tcp::endpoint peer) {
  const asio::ip::address address = peer.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    peer.address(asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()));
  return peer;
}

Connection::Connection(tcp::socket socket, SSL_CTX* context) : socket_(std::move(socket)) {
  error_code ignored;
  socket_.native_non_blocking(true, ignored);
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::send_buffer_size(kSendBuffer), ignored);
  ::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnacknowledgedMilliseconds,
               sizeof kUnacknowledgedMilliseconds);
  if (context == nullptr) return;
  ERR_clear_error();
  ssl_.reset(SSL_new(context));
  if (!ssl_ || SSL_set_fd(ssl_.get(), socket_.native_handle()) != 1) {
    handshake_error_ = openssl_error();
    aborted_ = true;
    return;
  }
  SSL_set_accept_state(ssl_.get());
  SSL_set_msg_callback(ssl_.get(), count_record);
  SSL_set_msg_callback_arg(ssl_.get(), this);
}

// OpenSSL goes on to the next record inside one SSL_read until one brings data or the socket is empty, so it
// is here that a flood ends: what has been shut down is read no more.
void Connection::count_record(int writes, int, int type, const void*, std::size_t, SSL* ssl,
                              void* connection) {
  if (writes != 0 || type != SSL3_RT_HEADER) return;
  auto& self = *static_cast<Connection*>(connection);
  ++self.without_wait_;
  if (++self.idle_records_ <= (SSL_is_init_finished(ssl) ? kIdleRecords : kHandshakeRecords)) return;
  self.flooded_ = true;
  SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
}

Connection::Io Connection::ssl_state(int result) const {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return Io::WantRead;
    case SSL_ERROR_WANT_WRITE:
      return Io::WantWrite;
    default:
      return Io::Closed;
  }
}

Connection::IoResult Connection::try_read(char* data, std::size_t size) {
  if (!ssl_) {
    ++without_wait_;
    const ssize_t n = ::recv(socket_.native_handle(), data, size, MSG_DONTWAIT);
    if (n > 0) return {Io::Done, static_cast<std::size_t>(n)};
    const bool later = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    return {later ? Io::WantRead : Io::Closed};
  }
  ERR_clear_error();
  std::size_t read = 0;
  const int result = SSL_read_ex(ssl_.get(), data, size, &read);
  if (result == 1) idle_records_ = 0;
  return result == 1 ? IoResult{Io::Done, read} : IoResult{ssl_state(result)};
}

Connection::IoResult Connection::try_write(std::string_view bytes) {
  if (!ssl_) {
    const ssize_t n =
        ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) return {Io::Done, static_cast<std::size_t>(n)};
    const bool later = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    return {later ? Io::WantWrite : Io::Closed};
  }
  ERR_clear_error();
  std::size_t written = 0;
  const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written);
  return result == 1 ? IoResult{Io::Done, written} : IoResult{ssl_state(result)};
}

asio::awaitable<bool> Connection::ready(Io wanted) {
  if (aborted_) co_return false;
  const auto event = wanted == Io::WantWrite ? tcp::socket::wait_write : tcp::socket::wait_read;
  const auto [error] = co_await socket_.async_wait(event, kAsTuple);
  without_wait_ = 0;
  co_return !error && !aborted_;
}

asio::awaitable<bool> Connection::handshake() {
  while (ssl_ && !aborted_) {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    if (result == 1) {
      idle_records_ = 0;
      co_return true;
    }
    const Io state = ssl_state(result);
    if (state == Io::Closed) {
      distrusted_ = is_distrust(ERR_peek_error());
      if (ERR_peek_error() != 0) handshake_error_ = openssl_error();
      if (flooded_) handshake_error_ = "it never ends";
      co_return false;
    }
    const bool go_on = co_await ready(state);
    if (!go_on) co_return false;
  }
  co_return !aborted_;
}

bool Connection::has_heard() const {
  return ssl_ && BIO_number_read(SSL_get_rbio(ssl_.get())) > 0;
}

asio::awaitable<bool> Connection::wait_input(bool here, std::chrono::milliseconds turn) {
  // Pending may be a first request, which came with the end of the handshake.
  const bool pending = ssl_ && SSL_has_pending(ssl_.get());
  if (!here && !pending) co_return co_await ready(Io::WantRead);
  asio::steady_timer timer(socket_.get_executor(), here ? turn : std::chrono::milliseconds(0));
  co_await timer.async_wait(kAsTuple);
  co_return !aborted_;
}

asio::awaitable<std::size_t> Connection::read_some(char* data, std::size_t size) {
  while (!aborted_) {
    if (without_wait_ >= kFairReads) {
      without_wait_ = 0;
      co_await asio::post(socket_.get_executor(), asio::use_awaitable);
      continue;
    }
    const IoResult result = try_read(data, size);
    if (result.state == Io::Done) co_return result.bytes;
    if (flooded_) abort(true);
    if (result.state == Io::Closed) break;
    const bool go_on = co_await ready(result.state);
    if (!go_on) break;
  }
  co_return 0;
}

asio::awaitable<bool> Connection::write_all(std::string_view bytes) {
  while (!bytes.empty() && !aborted_) {
    const IoResult result = try_write(bytes);
    bytes.remove_prefix(result.bytes);
    if (result.state == Io::Done) continue;
    if (result.state == Io::Closed) co_return false;
    const bool go_on = co_await ready(result.state);
    if (!go_on) co_return false;
  }
  co_return !aborted_;
}

asio::awaitable<void> Connection::close() {
  if (aborted_) co_return;
  ERR_clear_error();
  if (ssl_) SSL_shutdown(ssl_.get());  // if the socket has room; no client needs it
  error_code error;
  socket_.shutdown(tcp::socket::shutdown_send, error);
  std::array<char, 4096> scrap;
  while (!error && !aborted_) {
    const ssize_t n = ::recv(socket_.native_handle(), scrap.data(), scrap.size(), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) co_return;
    if (n > 0 && ++without_wait_ <= kFairReads) continue;
    const bool go_on = co_await ready(Io::WantRead);
    if (!go_on) co_return;
  }
}

void Connection::abort(bool reset) {
  aborted_ = true;
  error_code ignored;
  if (reset) socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  socket_.cancel(ignored);
}

bool Connection::has_unread_output() {
  int bytes = 0;
  return ::ioctl(socket_.native_handle(), SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

std::string Connection::peer() const {
  error_code error;
  const auto endpoint = unmapped(socket_.remote_endpoint(error));
  if (error) return "?";
  return endpoint.address().to_string() + " port " + std::to_string(endpoint.port());
}

}  // namespace nccl_env::net
