// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "netlink.h"

namespace nccl_env::tests {

// A kernel that has answered already: datagrams wait in a pair of sockets.
class ScriptedKernel {
 public:
  ScriptedKernel() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    netlink_.emplace(node::Netlink::on(ends[0]));
    far_ = ends[1];
  }
  ScriptedKernel(const ScriptedKernel&) = delete;
  ScriptedKernel& operator=(const ScriptedKernel&) = delete;
  ~ScriptedKernel() { ::close(far_); }

  // A message of the answer to request number `sequence`; sent with the next say().
  ScriptedKernel& add(std::uint32_t sequence, std::uint16_t type, std::uint16_t flags,
                      const std::string& payload) {
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(sizeof header + payload.size());
    header.nlmsg_type = type;
    header.nlmsg_flags = flags;
    header.nlmsg_seq = sequence;
    datagram_.append(reinterpret_cast<const char*>(&header), sizeof header).append(payload);
    datagram_.resize(NLMSG_ALIGN(datagram_.size()));
    return *this;
  }
  void say() {
    EXPECT_EQ(::send(far_, datagram_.data(), datagram_.size(), 0), static_cast<ssize_t>(datagram_.size()));
    datagram_.clear();
  }
  void say(const std::string& datagram) {
    datagram_ = datagram;
    say();
  }

  // Returns the next request behind its netlink header, with the type in that header.
  [[nodiscard]] std::pair<std::uint16_t, std::string> asked() const {
    char datagram[1024];
    const ssize_t size = ::recv(far_, datagram, sizeof datagram, MSG_DONTWAIT);
    nlmsghdr header{};
    if (size < static_cast<ssize_t>(sizeof header)) return {};
    std::memcpy(&header, datagram, sizeof header);
    return {header.nlmsg_type, {datagram + sizeof header, datagram + size}};
  }

  [[nodiscard]] node::Netlink& netlink() { return *netlink_; }

 private:
  std::optional<node::Netlink> netlink_;
  int far_ = -1;
  std::string datagram_;
};

}  // namespace nccl_env::tests
