// SPDX-License-Identifier: Apache-2.0
#include "client/client_socket.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace nccl_env::net {
namespace {

using std::chrono::steady_clock;

std::string error_text(int number) {
  return std::generic_category().message(number);
}

// 0, or getaddrinfo's error.
int look_up(const std::string& host, const std::string& port, int flags, std::vector<RawAddress>& into) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  for (const addrinfo* at = found; failed == 0 && at != nullptr; at = at->ai_next) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(at->ai_addr);
    into.emplace_back(bytes, bytes + at->ai_addrlen);
  }
  if (failed == 0) ::freeaddrinfo(found);
  return failed;
}

// Shared by the caller and the resolving thread; lives until both have finished.
struct Resolving {
  Resolving(std::string name, std::string number) : host(std::move(name)), port(std::move(number)) {}

  void run() {
    std::vector<RawAddress> found;
    const int failed = look_up(host, port, 0, found);
    const std::lock_guard lock(mutex);
    addresses = std::move(found);
    if (failed != 0) problem = ::gai_strerror(failed);
    finished.set();
  }

  const std::string host, port;
  StopSignal finished;
  std::mutex mutex;  // guards the two below
  std::vector<RawAddress> addresses;
  std::string problem;
};

Result<std::shared_ptr<Resolving>> start_resolving(const std::string& host, const std::string& port) {
  try {
    auto resolving = std::make_shared<Resolving>(host, port);
    std::thread([resolving] { resolving->run(); }).detach();
    return resolving;
  } catch (const std::system_error& error) {  // out of descriptors or threads
    return Error{std::string("its name can't be resolved: ") + error.what()};
  }
}

}  // namespace

Result<std::vector<RawAddress>> resolve(const std::string& host, std::uint16_t port, const StopSignal& stop,
                                        Deadline deadline) {
  const std::string number = std::to_string(port);
  std::vector<RawAddress> addresses;
  if (look_up(host, number, AI_NUMERICHOST, addresses) == 0) return addresses;
  const auto started = start_resolving(host, number);
  if (!started) return started.error();
  Resolving& resolving = **started;
  const int ready = stop.wait_for(resolving.finished.descriptor(), POLLIN, deadline);
  if (ready < 0) return Error{"stopped"};
  if (ready == 0) return Error{"its name was not resolved in time"};
  const std::lock_guard lock(resolving.mutex);
  if (resolving.addresses.empty()) return Error{"its name has no address: " + resolving.problem};
  return resolving.addresses;
}

Result<ClientSocket> ClientSocket::connect(const std::string& host, std::uint16_t port,
                                           std::shared_ptr<const StopSignal> stop, Deadline deadline) {
  const auto addresses = resolve(host, port, *stop, deadline);
  if (!addresses) return addresses.error();
  std::string problem;
  for (std::size_t i = 0; i < addresses->size(); ++i) {
    const auto* address = reinterpret_cast<const sockaddr*>((*addresses)[i].data());
    ClientSocket socket(::socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), stop);
    if (!socket.descriptor_) return Error{"no socket: " + error_text(errno)};
    // An address that does not answer leaves time for the others.
    const auto now = steady_clock::now();
    const auto share = (deadline - now) / static_cast<int>(addresses->size() - i);
    const auto length = static_cast<unsigned int>((*addresses)[i].size());
    const Status connected = socket.connect_to(address, length, now + share);
    if (connected) return socket;
    if (problem.empty()) problem = connected.error().message;
    if (stop->is_set()) break;
  }
  return Error{problem};
}

Status ClientSocket::connect_to(const sockaddr* address, unsigned int length, Deadline deadline) {
  const auto set = [&](int level, int name, int value) {
    ::setsockopt(descriptor(), level, name, &value, sizeof value);  // optional: it works without
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  // A server that vanished without closing is noticed after 15 + 3 * 5 seconds, also by a quiet watch.
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  if (::connect(descriptor(), address, length) == 0) return done();
  if (errno != EINPROGRESS && errno != EINTR) return Error{error_text(errno)};
  if (const Status ready = wait(true, deadline); !ready) return ready.error();
  int problem = 0;
  socklen_t size = sizeof problem;
  if (::getsockopt(descriptor(), SOL_SOCKET, SO_ERROR, &problem, &size) != 0) problem = errno;
  if (problem != 0) return Error{error_text(problem)};
  return done();
}

Status ClientSocket::wait(bool to_write, Deadline deadline) const {
  const int ready = stop_->wait_for(descriptor(), to_write ? POLLOUT : POLLIN, deadline);
  if (ready < 0) return Error{"stopped"};
  if (ready == 0) return Error{"the deadline is over"};
  return done();
}

}  // namespace nccl_env::net
