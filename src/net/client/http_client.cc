// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/net/client/http_client.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "client/client_socket.h"
#include "client/response_reader.h"
#include "tls/openssl.h"

namespace nccl_env::net {
namespace {

constexpr std::size_t kInput = 32u << 10;  // two TLS records

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> scrap{};
  return ::inet_pton(AF_INET, host.c_str(), scrap.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), scrap.data()) == 1;
}

// Sets the name that the certificate has to have; SNI carries names only (RFC 6066 §3).
bool expect_name(SSL* ssl, const std::string& name) {
  X509_VERIFY_PARAM* param = SSL_get0_param(ssl);
  if (is_address(name)) return X509_VERIFY_PARAM_set1_ip_asc(param, name.c_str()) == 1;
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  std::string sni = name;  // as in SSL_set_tlsext_host_name, without its cast
  return SSL_set1_host(ssl, name.c_str()) == 1 &&
         SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, sni.data()) == 1;
}

}  // namespace

std::string HttpsServer::authority() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

struct HttpConnection::Body {
  Body(const HttpsServer& to, ClientSocket connected, std::shared_ptr<const ClientTls> with)
      : server("https://" + to.authority()), socket(std::move(connected)), tls(std::move(with)) {}

  [[nodiscard]] Error failed(std::string_view what) const { return {server + ": " + std::string(what)}; }

  // Why OpenSSL gave up: the certificate, the protocol, or the connection itself.
  [[nodiscard]] Error broken(std::string_view phase, int error, int number) const {
    const long verified = SSL_get_verify_result(ssl.get());
    const std::string what(phase);
    if (verified != X509_V_OK)
      return failed(what + ": the server's certificate: " + X509_verify_cert_error_string(verified));
    if (ERR_peek_error() != 0) return failed(what + ": " + openssl_error());
    if (error == SSL_ERROR_SYSCALL && number != 0)
      return failed(what + ": " + std::generic_category().message(number));
    return failed(what + ": the server closed the connection");
  }

  // Runs an OpenSSL call until it is done. Sets `closed` if the other side closed in good order; if `closed`
  // is null, that is an error.
  template <class Call>
  Status run(std::string_view phase, Deadline deadline, bool* closed, Call call) {
    for (;;) {
      ERR_clear_error();
      errno = 0;
      const int result = call();
      const int number = errno;
      if (result == 1) return done();
      const int error = SSL_get_error(ssl.get(), result);
      if (error == SSL_ERROR_ZERO_RETURN && closed != nullptr) {
        *closed = true;
        return done();
      }
      if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return broken(phase, error, number);
      if (const Status ready = socket.wait(error == SSL_ERROR_WANT_WRITE, deadline); !ready)
        return failed(std::string(phase) + ": " + ready.error().message);
    }
  }

  Status handshake(const std::string& name, Deadline deadline) {
    ERR_clear_error();
    ssl.reset(SSL_new(tls->native()));
    if (!ssl || SSL_set_fd(ssl.get(), socket.descriptor()) != 1 || !expect_name(ssl.get(), name))
      return failed(openssl_error());
    SSL_set_connect_state(ssl.get());
    return run("TLS handshake", deadline, nullptr, [this] { return SSL_do_handshake(ssl.get()); });
  }

  // Replaces the input, all of which has been used; sets `at_end` if there is no more.
  Status receive(Deadline deadline) {
    std::size_t n = 0;
    if (input.size() != kInput) input.resize(kInput);
    Status read = run("waiting for the answer", deadline, &at_end,
                      [&] { return SSL_read_ex(ssl.get(), input.data(), input.size(), &n); });
    begin = 0;
    end = n;
    answered = answered || n > 0;
    return read;
  }

  // Feeds the reader once, with what is unread or else with new input.
  Status step(std::string& into, Deadline deadline) {
    if (begin == end) {
      if (const Status read = receive(deadline); !read) return read.error();
    }
    if (begin == end && at_end) {
      const Status ended = reader.end();
      return ended ? ended : failed(ended.error().message);
    }
    const auto used = reader.feed(std::string_view(input).substr(begin, end - begin), into);
    if (!used) return failed(used.error().message);
    begin += *used;
    return done();
  }

  const std::string server;
  ClientSocket socket;
  std::shared_ptr<const ClientTls> tls;  // referenced by ssl
  SslPtr ssl;
  ResponseReader reader;
  std::string input, early;  // `early`: body that came with the header
  std::size_t begin = 0, end = 0;
  std::size_t sent = 0;
  bool answered = false, at_end = false;
};

HttpConnection::HttpConnection(std::unique_ptr<Body> body) : body_(std::move(body)) {}
HttpConnection::~HttpConnection() = default;

Result<std::unique_ptr<HttpConnection>> HttpConnection::open(const HttpsServer& server,
                                                             std::shared_ptr<const ClientTls> tls,
                                                             std::shared_ptr<const StopSignal> stop,
                                                             Deadline deadline) {
  auto socket = ClientSocket::connect(server.host, server.port, std::move(stop), deadline);
  if (!socket) return Error{"https://" + server.authority() + ": " + socket.error().message};
  auto body = std::make_unique<Body>(server, *std::move(socket), std::move(tls));
  const std::string& name = server.tls_name.empty() ? server.host : server.tls_name;
  if (const Status shaken = body->handshake(name, deadline); !shaken) return shaken.error();
  return std::unique_ptr<HttpConnection>(new HttpConnection(std::move(body)));
}

// TLS 1.3 session tickets may wait to be read: they do not count, unlike data, an end or an error.
bool HttpConnection::still_open() const {
  char byte = 0;
  ERR_clear_error();
  const int result = SSL_peek(body_->ssl.get(), &byte, 1);
  return result <= 0 && SSL_get_error(body_->ssl.get(), result) == SSL_ERROR_WANT_READ;
}

Status HttpConnection::send(std::string_view request, Deadline deadline) {
  Body& b = *body_;
  b.reader.reset();
  b.early.clear();
  b.answered = false;
  for (b.sent = 0; b.sent < request.size();) {
    const std::string_view rest = request.substr(b.sent);
    std::size_t n = 0;
    const Status written = b.run("sending", deadline, nullptr,
                                 [&] { return SSL_write_ex(b.ssl.get(), rest.data(), rest.size(), &n); });
    if (!written) return written.error();
    b.sent += n;
  }
  return done();
}

bool HttpConnection::sent_nothing() const {
  return body_->sent == 0;
}

Result<int> HttpConnection::read_status(Deadline deadline) {
  while (!body_->reader.has_head()) {
    if (const Status read = body_->step(body_->early, deadline); !read) return read.error();
  }
  return body_->reader.status();
}

Result<bool> HttpConnection::read_body(std::string& body, Deadline deadline) {
  const std::size_t before = body.size();
  body += body_->early;
  body_->early.clear();
  while (body.size() == before) {
    if (body_->reader.complete()) return false;
    if (const Status read = body_->step(body, deadline); !read) return read.error();
  }
  return true;
}

bool HttpConnection::answered() const {
  return body_->answered;
}

bool HttpConnection::reusable() const {
  return body_->reader.complete() && body_->reader.keep_alive() && body_->begin == body_->end &&
         !body_->at_end;
}

}  // namespace nccl_env::net
