// SPDX-License-Identifier: Apache-2.0
#include "support/openssl_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/x509.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace nccl_env::net {
namespace {

sockaddr_in loopback(std::uint16_t port, int host = 1) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + static_cast<unsigned>(host));
  return address;
}

}  // namespace

TestClient::TestClient(std::uint16_t port, bool tls, SSL_CTX* context, int from, int receive_buffer)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  std::signal(SIGPIPE, SIG_IGN);
  const timeval patience{20, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (receive_buffer > 0) ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  const sockaddr_in source = loopback(0, from);
  if (from != 1) ::bind(fd_, reinterpret_cast<const sockaddr*>(&source), sizeof source);
  const sockaddr_in address = loopback(port);
  connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (!connected_ || !tls) return;
  if (context != nullptr) {
    SSL_CTX_up_ref(context);
    context_ = context;
  } else {
    context_ = SSL_CTX_new(TLS_client_method());
  }
  ssl_ = SSL_new(context_);
  SSL_set_fd(ssl_, fd_);
  connected_ = SSL_connect(ssl_) == 1;
}

TestClient::~TestClient() {
  SSL_free(ssl_);
  SSL_CTX_free(context_);
  ::close(fd_);
}

bool TestClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const long n = ssl_ != nullptr ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                                   : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool TestClient::update_key() {
  return SSL_key_update(ssl_, SSL_KEY_UPDATE_NOT_REQUESTED) == 1 && SSL_do_handshake(ssl_) == 1;
}

void TestClient::half_close() {
  ::shutdown(fd_, SHUT_WR);
}

TestReply TestClient::ask(std::string_view request) {
  EXPECT_TRUE(send(request)) << "the server closed";
  return read_reply();
}

bool TestClient::ended() const {
  pollfd state{fd_, POLLRDHUP, 0};
  return ::poll(&state, 1, 0) == 1;
}

long TestClient::read(char* data, std::size_t size) {
  return ssl_ != nullptr ? SSL_read(ssl_, data, static_cast<int>(size)) : ::recv(fd_, data, size, 0);
}

TestReply TestClient::read_reply(bool head_only) {
  TestReply reply;
  std::array<char, 16384> chunk;
  auto more = [&] {
    const long n = read(chunk.data(), chunk.size());
    if (n > 0) unread_.append(chunk.data(), static_cast<std::size_t>(n));
    return n > 0;
  };
  std::size_t end = 0;
  while ((end = unread_.find("\r\n\r\n")) == std::string::npos) {
    if (!more()) return reply;
  }
  reply.header = unread_.substr(0, end + 4);
  unread_.erase(0, end + 4);
  const std::size_t at = reply.header.find("Content-Length: ");
  const std::size_t length =
      at == std::string::npos || head_only ? 0 : std::strtoul(reply.header.c_str() + at + 16, nullptr, 10);
  while (unread_.size() < length) {
    if (!more()) return reply;
  }
  reply.body = unread_.substr(0, length);
  unread_.erase(0, length);
  reply.status = std::atoi(reply.header.c_str() + 9);
  return reply;
}

bool TestClient::at_end() {
  char byte = 0;
  if (!unread_.empty()) return false;
  const long n = read(&byte, 1);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}

std::string TestClient::peer_fingerprint() const {
  X509* certificate = SSL_get1_peer_certificate(ssl_);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (certificate != nullptr) X509_digest(certificate, EVP_sha256(), digest.data(), &size);
  X509_free(certificate);
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text += "0123456789abcdef"[digest[i] >> 4];
    text += "0123456789abcdef"[digest[i] & 15];
  }
  return text;
}

std::string post(std::string_view target, std::string_view body, std::string_view more_fields) {
  std::string text = "POST ";
  text += target;
  text += " HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: ";
  text += std::to_string(body.size());
  text += "\r\n";
  text += more_fields;
  text += "\r\n";
  text += body;
  return text;
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

CommandResult run_command(const std::string& command) {
  CommandResult result;
  std::FILE* pipe = ::popen(("exec 2>&1; " + command).c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> chunk;
  for (std::size_t n; (n = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;) {
    result.output.append(chunk.data(), n);
  }
  const int status = ::pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

}  // namespace nccl_env::net
