// SPDX-License-Identifier: Apache-2.0
#include "netlink.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace nccl_env::node {
namespace {

Error failed(const char* what, int error) {
  return {std::string("netlink: ") + what + ": " + std::generic_category().message(error)};
}

enum class Walk { More, Done, Cut };

// Calls `on_message` for each message of one datagram.
template <class OnMessage>
Walk walk(std::span<const std::uint8_t> bytes, const OnMessage& on_message) {
  while (bytes.size() >= sizeof(nlmsghdr)) {
    nlmsghdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > bytes.size()) return Walk::Cut;
    const NetlinkMessage message{header.nlmsg_type,
                                 bytes.subspan(sizeof header, header.nlmsg_len - sizeof header)};
    if (on_message(header, message) == Walk::Done) return Walk::Done;
    bytes = bytes.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), bytes.size()));
  }
  return Walk::More;
}

}  // namespace

Attributes::Attributes(std::span<const std::uint8_t> bytes) {
  while (bytes.size() >= sizeof(nlattr)) {
    nlattr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.nla_len < sizeof header || header.nla_len > bytes.size()) return;
    entries_.emplace_back(header.nla_type & NLA_TYPE_MASK,
                          bytes.subspan(sizeof header, header.nla_len - sizeof header));
    bytes = bytes.subspan(std::min<std::size_t>(NLA_ALIGN(header.nla_len), bytes.size()));
  }
}

std::span<const std::uint8_t> Attributes::find(unsigned type) const {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->first == type) return entry->second;
  }
  return {};
}

std::uint32_t Attributes::u32(unsigned type) const {
  std::uint32_t value = 0;
  const auto bytes = find(type);
  if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::string Attributes::text(unsigned type) const {
  const auto bytes = find(type);
  return {bytes.begin(), std::find(bytes.begin(), bytes.end(), 0)};
}

Result<Netlink> Netlink::open(int protocol, std::uint32_t groups) {
  Netlink made(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  if (!made.fd_) return failed("socket", errno);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = groups;
  if (::bind(made.fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return failed("bind", errno);
  return made;
}

Netlink::Netlink(int fd)
    : fd_(fd), buffer_(32 << 10) {  // the most that the kernel fills in one read of a dump
  const timeval patience{2, 0};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

Status Netlink::request(std::uint16_t type, std::span<const std::uint8_t> request,
                        const OnMessage& on_message) {
  const auto answered = exchange(type, 0, request, on_message);
  return answered ? done() : Status(answered.error());
}

Status Netlink::dump(std::uint16_t type, std::span<const std::uint8_t> request,
                     const std::function<void()>& on_begin, const OnMessage& on_message) {
  for (int attempt = 0; attempt < kDumpAttempts; ++attempt) {
    on_begin();
    const auto whole = exchange(type, NLM_F_DUMP, request, on_message);
    if (!whole) return whole.error();
    if (*whole) return done();
  }
  return Error{"netlink: " + std::to_string(kDumpAttempts) + " dumps were interrupted by changes"};
}

Result<bool> Netlink::exchange(std::uint16_t type, std::uint16_t flags, std::span<const std::uint8_t> request,
                               const OnMessage& on_message) {
  nlmsghdr header{};
  header.nlmsg_len = static_cast<std::uint32_t>(sizeof header + request.size());
  header.nlmsg_type = type;
  header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  header.nlmsg_seq = ++sequence_;
  std::vector<std::uint8_t> message(header.nlmsg_len);
  std::memcpy(message.data(), &header, sizeof header);
  std::copy(request.begin(), request.end(), message.begin() + sizeof header);
  if (::send(fd_.get(), message.data(), message.size(), 0) < 0) return failed("send", errno);

  const bool dump = (flags & NLM_F_DUMP) == NLM_F_DUMP;
  bool interrupted = false;
  int error = 0;
  const auto on_each = [&](const nlmsghdr& each, const NetlinkMessage& content) {
    if (each.nlmsg_seq != sequence_) return Walk::More;  // of an earlier request that failed
    interrupted = interrupted || (dump && (each.nlmsg_flags & NLM_F_DUMP_INTR) != 0);
    if (each.nlmsg_type == NLMSG_DONE) {
      int result = 0;  // negative where the kernel could not dump all
      if (content.read(result) && result < 0) error = -result;
      return Walk::Done;
    }
    if (each.nlmsg_type == NLMSG_ERROR) {
      nlmsgerr what{};
      if (content.read(what)) error = -what.error;
      return Walk::Done;
    }
    on_message(content);
    return dump ? Walk::More : Walk::Done;
  };
  for (;;) {
    const ssize_t size = ::recv(fd_.get(), buffer_.data(), buffer_.size(), MSG_TRUNC);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failed("no answer", errno);
    if (static_cast<std::size_t>(size) > buffer_.size()) return failed("answer", EMSGSIZE);
    const Walk walked = walk(std::span(buffer_).first(static_cast<std::size_t>(size)), on_each);
    if (walked == Walk::Cut) return failed("a message is cut", EBADMSG);
    if (walked == Walk::Done) break;
  }
  if (error != 0) return failed("refused", error);
  return !interrupted;
}

bool Netlink::receive_datagrams(const std::function<void(std::span<const std::uint8_t>)>& on_datagram) {
  bool complete = true;
  for (;;) {
    const ssize_t size = ::recv(fd_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0 && errno == EINTR) continue;
    // More than the socket holds, or a datagram whose end is lost: the rest is still read.
    const bool lost = size < 0 ? errno == ENOBUFS : static_cast<std::size_t>(size) > buffer_.size();
    complete = complete && !lost;
    if (lost) continue;
    if (size <= 0) return complete;
    on_datagram(std::span(buffer_).first(static_cast<std::size_t>(size)));
  }
}

bool Netlink::receive_events(const OnMessage& on_message) {
  return receive_datagrams([&](std::span<const std::uint8_t> bytes) {
    walk(bytes, [&](const nlmsghdr&, const NetlinkMessage& message) {
      on_message(message);
      return Walk::More;
    });
  });
}

}  // namespace nccl_env::node
