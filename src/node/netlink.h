// SPDX-License-Identifier: Apache-2.0
// A netlink socket: requests whose answers are walked message by message, and multicast groups. Plain
// kernel interface, so that neither libnl nor a privilege is needed.
#pragma once

#include <linux/netlink.h>

#include <algorithm>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nccl_env/base/descriptor.h"
#include "nccl_env/result.h"

namespace nccl_env::node {

// Reads a struct at the beginning; false where there are fewer bytes.
template <class Struct>
bool read_struct(std::span<const std::uint8_t> bytes, Struct& into) {
  if (bytes.size() < sizeof into) return false;
  std::copy_n(bytes.begin(), sizeof into, reinterpret_cast<std::uint8_t*>(&into));
  return true;
}

// The attributes of a message, bounds checked: attribute type -> its bytes. If a type stands twice, the last
// one counts, as in the kernel.
class Attributes {
 public:
  explicit Attributes(std::span<const std::uint8_t> bytes);
  [[nodiscard]] const auto& all() const { return entries_; }
  // Empty if there is none.
  [[nodiscard]] std::span<const std::uint8_t> find(unsigned type) const;
  // 0 if there is none of this size.
  [[nodiscard]] std::uint32_t u32(unsigned type) const;
  // Up to the terminating zero.
  [[nodiscard]] std::string text(unsigned type) const;

 private:
  std::vector<std::pair<unsigned, std::span<const std::uint8_t>>> entries_;
};

struct NetlinkMessage {
  std::uint16_t type = 0;
  std::span<const std::uint8_t> payload;  // behind the netlink header

  // The fixed struct at the payload's start, and the attributes behind it.
  template <class Header>
  [[nodiscard]] bool read(Header& header) const {
    return read_struct(payload, header);
  }
  template <class Header>
  [[nodiscard]] Attributes attributes() const {
    const std::size_t at = std::min<std::size_t>(NLMSG_ALIGN(sizeof(Header)), payload.size());
    return Attributes(payload.subspan(at));
  }
};

template <class Header>
std::span<const std::uint8_t> bytes_of(const Header& header) {
  return {reinterpret_cast<const std::uint8_t*>(&header), sizeof header};
}

class Netlink {
 public:
  // `protocol`: NETLINK_ROUTE, NETLINK_RDMA. `groups`: RTMGRP_ bits to follow.
  static Result<Netlink> open(int protocol, std::uint32_t groups = 0);
  // Takes a socket on which somebody answers as the kernel does.
  static Netlink on(int socket) { return Netlink(socket); }

  using OnMessage = std::function<void(const NetlinkMessage&)>;
  // Sends `request` behind a header of this type and calls `on_message` with the answer. Fails if the kernel
  // returns an error or says nothing for two seconds, or if a message is cut.
  Status request(std::uint16_t type, std::span<const std::uint8_t> request, const OnMessage& on_message);
  // The same for a dump, to its end. If objects come or go meanwhile, the kernel may skip others, and says
  // so (NLM_F_DUMP_INTR): then the dump is requested again. `on_begin` is called before each attempt and has
  // to discard the results of the last one; the dump fails after kDumpAttempts.
  Status dump(std::uint16_t type, std::span<const std::uint8_t> request,
              const std::function<void()>& on_begin, const OnMessage& on_message);
  // A dump of a thousand links takes the kernel some milliseconds; pods come and go a few times a second.
  static constexpr int kDumpAttempts = 10;
  // Takes what multicast groups brought, without waiting. False if messages were lost or cut.
  bool receive_events(const OnMessage& on_message);
  // The same for a protocol that has no netlink headers (NETLINK_KOBJECT_UEVENT).
  bool receive_datagrams(const std::function<void(std::span<const std::uint8_t>)>& on_datagram);

  [[nodiscard]] int descriptor() const { return fd_.get(); }

 private:
  explicit Netlink(int fd);
  // Returns false where a dump was interrupted.
  Result<bool> exchange(std::uint16_t type, std::uint16_t flags, std::span<const std::uint8_t> request,
                        const OnMessage& on_message);

  Descriptor fd_;
  std::uint32_t sequence_ = 0;
  std::vector<std::uint8_t> buffer_;
};

}  // namespace nccl_env::node
