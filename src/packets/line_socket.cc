// SPDX-License-Identifier: Apache-2.0
#include "line_socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <system_error>

namespace nccl_env::packets {
namespace {

// A peer whose machine is gone is gone here after 11 s.
constexpr int kIdleSeconds = 5, kProbeSeconds = 2, kProbes = 3, kUnsentMilliseconds = 11'000;

std::string text_of(int error) {
  return std::generic_category().message(error);
}

// 0, or an errno.
int connect_to(int descriptor, const addrinfo& address, std::chrono::milliseconds time) {
  if (::connect(descriptor, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd waits{descriptor, POLLOUT, 0};
  if (::poll(&waits, 1, static_cast<int>(time.count())) != 1) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

}  // namespace

int milliseconds_until(std::chrono::steady_clock::time_point then) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(then - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, 1000));
}

LineSocket::LineSocket(Descriptor connected) : descriptor_(std::move(connected)) {
  const auto set = [&](int level, int name, int value) {
    ::setsockopt(descriptor_.get(), level, name, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUnsentMilliseconds);
}

Result<LineSocket> LineSocket::connect(const std::string& host, int port, std::chrono::milliseconds each) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &first);
  if (failed != 0)
    return Error{host + ": " + (failed == EAI_SYSTEM ? text_of(errno) : ::gai_strerror(failed))};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(first, ::freeaddrinfo);
  int error = 0;
  for (const addrinfo* address = first; address; address = address->ai_next) {
    Descriptor descriptor(::socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    error = descriptor ? connect_to(descriptor.get(), *address, each) : errno;
    if (error == 0) return LineSocket(std::move(descriptor));
  }
  return Error{host + ":" + std::to_string(port) + ": " + text_of(error)};
}

short LineSocket::events() const {
  return static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT);
}

void LineSocket::send(std::string_view line) {
  unsent_.append(line).push_back('\n');
  flush();  // that the peer is gone is seen when its answer does not come
}

bool LineSocket::flush() {
  while (!unsent_.empty()) {
    const ssize_t sent = ::send(descriptor_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    unsent_.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

bool LineSocket::receive(const std::function<bool(std::string_view)>& on_line) {
  std::array<char, 16384> bytes;
  const ssize_t count = ::recv(descriptor_.get(), bytes.data(), bytes.size(), 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  const auto fed = lines_.feed({bytes.data(), static_cast<std::size_t>(count)}, on_line);
  return fed && *fed;
}

}  // namespace nccl_env::packets
