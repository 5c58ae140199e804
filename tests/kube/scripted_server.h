// SPDX-License-Identifier: Apache-2.0
// A TLS server on loopback that does to each request what the test says, byte by byte if need be. Blocking,
// one thread per connection.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "nccl_env/kube/base64.h"
#include "nccl_env/net/tls/pki.h"
#include "nccl_env/net/tls/tls.h"

namespace nccl_env::tests {

// One CA for all tests of a program, and certificates of it.
inline const net::KeyPair& test_ca() {
  static const net::KeyPair made = net::make_ca("test CA", std::chrono::system_clock::now()).value();
  return made;
}
inline net::KeyPair test_certificate(const std::vector<std::string>& names) {
  return net::issue_server_certificate(test_ca(), names, std::chrono::system_clock::now()).value();
}

// The kubeconfig of a server on loopback with such a certificate.
inline nlohmann::json kubeconfig_of(std::uint16_t port, const nlohmann::json& user = {{"token", "secret"}}) {
  const nlohmann::json cluster = {{"server", "https://127.0.0.1:" + std::to_string(port)},
                                  {"certificate-authority-data", kube::encode_base64(test_ca().certificate)}};
  return {{"apiVersion", "v1"},
          {"kind", "Config"},
          {"current-context", "test"},
          {"contexts", {{{"name", "test"}, {"context", {{"cluster", "c"}, {"user", "u"}}}}}},
          {"clusters", {{{"name", "c"}, {"cluster", cluster}}}},
          {"users", {{{"name", "u"}, {"user", user}}}}};
}

struct ScriptedRequest {
  std::string head;  // with the request line
  std::string method, target, body;

  // The value of a header field, "" if it is absent.
  [[nodiscard]] std::string field(const std::string& name) const {
    const auto at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return {};
    const auto from = at + name.size() + 4;
    return head.substr(from, head.find("\r\n", from) - from);
  }
};

class ScriptedConnection {
 public:
  explicit ScriptedConnection(SSL* ssl) : ssl_(ssl) {}

  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const int n = SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  bool reply(int status, std::string_view body, std::string_view more_fields = {}) {
    return write("HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: application/json\r\n" +
                 std::string(more_fields) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                 std::string(body));
  }
  bool begin_chunks() { return write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"); }
  bool chunk(std::string_view bytes) {
    std::array<char, 20> size{};
    std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
    return write(std::string(size.data()) + std::string(bytes) + "\r\n");
  }
  bool end_chunks() { return write("0\r\n\r\n"); }
  // Waits until the client closes or the server stops.
  void wait_closed() {
    std::array<char, 256> scrap;
    while (SSL_read(ssl_, scrap.data(), scrap.size()) > 0) {
    }
  }
  void close() { open_ = false; }  // after this request
  [[nodiscard]] bool peer_is_there() const {
    char byte = 0;
    const long n = ::recv(SSL_get_fd(ssl_), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
  }

  [[nodiscard]] bool is_open() const { return open_; }
  [[nodiscard]] int number() const { return number_; }  // of the connection, from 1
  void set_number(int number) { number_ = number; }

  bool read_request(ScriptedRequest& request) {
    const auto more = [&] {
      std::array<char, 16384> part;
      const int n = SSL_read(ssl_, part.data(), part.size());
      if (n > 0) unread_.append(part.data(), static_cast<std::size_t>(n));
      return n > 0;
    };
    std::size_t end = 0;
    while ((end = unread_.find("\r\n\r\n")) == std::string::npos) {
      if (!more()) return false;
    }
    request.head = unread_.substr(0, end + 2);
    unread_.erase(0, end + 4);
    request.method = request.head.substr(0, request.head.find(' '));
    const auto from = request.method.size() + 1;
    request.target = request.head.substr(from, request.head.find(' ', from) - from);
    const std::string length = request.field("Content-Length");
    const std::size_t size = length.empty() ? 0 : std::stoul(length);
    while (unread_.size() < size) {
      if (!more()) return false;
    }
    request.body = unread_.substr(0, size);
    unread_.erase(0, size);
    return true;
  }

 private:
  SSL* ssl_;
  std::string unread_;
  bool open_ = true;
  int number_ = 0;
};

class ScriptedServer {
 public:
  using Handler = std::function<void(ScriptedConnection&, const ScriptedRequest&)>;

  explicit ScriptedServer(Handler handler, const net::KeyPair& identity = test_certificate({"127.0.0.1"}),
                          const std::string& client_ca = {}, std::uint16_t port = 0)
      : handler_(std::move(handler)),
        tls_(net::TlsContext::make({identity.certificate, identity.key, client_ca}).value()) {
    std::signal(SIGPIPE, SIG_IGN);
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 64) != 0)
      throw std::runtime_error("can't listen");
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~ScriptedServer() { stop(); }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  // Ends all connections; nobody listens any more.
  void stop() {
    if (!acceptor_.joinable()) return;
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    ::close(listener_);
    drop_connections();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  void drop_connections() {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int connections() const { return accepted_; }
  [[nodiscard]] bool stopping() const { return stopping_; }

 private:
  void accept_all() {
    for (;;) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      const int number = ++accepted_;
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
      threads_.emplace_back([this, fd, number] { serve(fd, number); });
    }
  }
  void serve(int fd, int number) {
    SSL* ssl = SSL_new(tls_->native());
    SSL_set_fd(ssl, fd);
    ScriptedConnection connection(ssl);
    connection.set_number(number);
    ScriptedRequest request;
    if (SSL_accept(ssl) == 1) {
      while (connection.is_open() && !stopping_ && connection.read_request(request))
        handler_(connection, request);
    }
    SSL_free(ssl);
    const std::lock_guard lock(mutex_);
    open_.remove(fd);
    ::close(fd);
  }

  const Handler handler_;
  const std::shared_ptr<const net::TlsContext> tls_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> accepted_{0};
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;  // guards the two below
  std::list<int> open_;
  std::list<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace nccl_env::tests
