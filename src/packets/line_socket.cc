// SPDX-License-Identifier: Apache-2.0
#include "line_socket.h"

#include <netdb.h>
#include <netinet/tcp.h>

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

}  // namespace

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

Result<LineSocket> LineSocket::connect(const std::string& host, int port, std::chrono::seconds each) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &first);
  if (failed != 0)
    return Error{host + ": " + (failed == EAI_SYSTEM ? text_of(errno) : ::gai_strerror(failed))};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(first, ::freeaddrinfo);
  const timeval time{each.count(), 0};
  int error = 0;
  for (const addrinfo* address = first; address; address = address->ai_next) {
    Descriptor descriptor(::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    // This bounds connect(), too.
    if (descriptor) ::setsockopt(descriptor.get(), SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
    if (descriptor && ::connect(descriptor.get(), address->ai_addr, address->ai_addrlen) == 0)
      return LineSocket(std::move(descriptor));
    error = errno == EINPROGRESS ? ETIMEDOUT : errno;
  }
  return Error{host + ":" + std::to_string(port) + ": " + text_of(error)};
}

pollfd LineSocket::wanted() const {
  return {descriptor_.get(), static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT), 0};
}

bool LineSocket::serve(const std::function<bool(std::string_view)>& on_line) {
  const auto passing = [] { return errno == EAGAIN || errno == EINTR; };
  if (!unsent_.empty()) {
    const ssize_t sent =
        ::send(descriptor_.get(), unsent_.data(), unsent_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && !passing()) return false;
    unsent_.erase(0, static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
  }
  std::array<char, 16384> bytes;
  const ssize_t count = ::recv(descriptor_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count <= 0) return count < 0 && passing();
  const auto fed = lines_.feed({bytes.data(), static_cast<std::size_t>(count)}, on_line);
  return fed && *fed;
}

}  // namespace nccl_env::packets
