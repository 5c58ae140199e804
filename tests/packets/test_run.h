// SPDX-License-Identifier: Apache-2.0
// A whole test in one process: a real collector and members over loopback, and a fabric in memory.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <sstream>
#include <thread>

#include "nccl_env/base/descriptor.h"
#include "nccl_env/core/proof/lines.h"
#include "nccl_env/packets/collector.h"
#include "packets/fake_fabric.h"

namespace nccl_env::tests {

using namespace std::chrono_literals;

inline const std::string kToken = "0123456789abcdef0123456789abcdef";

// A node whose rail n is mlx5_n, with row 3 in 10.n.0.0/16.
inline NodeFabric table_of(int place, int rails) {
  NodeFabric table;
  table.interfaces.emplace();
  for (int rail = 0; rail < rails; ++rail) {
    const std::string number = std::to_string(rail), netdev = "eth" + number;
    const IpAddress address =
        *parse_ip("10." + number + "." + std::to_string(place / 250) + "." + std::to_string(place % 250 + 1));
    Port port;
    port.hca = "mlx5_" + number;
    port.link_layer = LinkLayer::Ethernet;
    port.transport = Transport::RoCE;
    port.state = PortState::Active;
    port.gid_table_length = 255;
    const Gid local = *parse_gid("fe80::" + std::to_string(place + 1));
    port.gids = {{GidRow{1, local, GidType::RoCEv2, {}, netdev},
                  GidRow{3, Gid{address.bytes}, GidType::RoCEv2, address, netdev}}};
    table.ports.push_back(port);
    table.interfaces->push_back({netdev, {{{address, 16}}}, 4200, true, ""});
  }
  return table;
}

// Connects by hand, as a stranger or a member that misbehaves.
class RawPeer {
 public:
  explicit RawPeer(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  [[nodiscard]] bool connected() const { return connected_; }
  void send(const std::string& text) const {
    std::string_view left = text;
    while (!left.empty()) {
      const ssize_t sent = ::send(socket_.get(), left.data(), left.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      left.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // Reads until the connection closes, or there is a line's end; "still open" after 10 s.
  [[nodiscard]] std::string hear() const {
    std::string heard;
    char byte = 0;
    pollfd polled{socket_.get(), POLLIN, 0};
    while (::poll(&polled, 1, 10'000) == 1) {
      if (::recv(socket_.get(), &byte, 1, 0) <= 0) return heard;
      heard += byte;
      if (byte == '\n') return heard;
    }
    return "still open";
  }
  void close() { socket_.close(); }

 private:
  Descriptor socket_;
  bool connected_ = false;
};

class TestRun : public ::testing::Test {
 protected:
  static constexpr int kRails = 2;

  ~TestRun() override { finish(); }

  static packets::CollectorOptions usual() {
    packets::CollectorOptions options;
    options.token = kToken;
    options.deadline = std::chrono::steady_clock::now() + 60s;
    return options;
  }

  // Starts the collector for so many.
  void lead(int expected) {
    options_.expected = expected;
    auto door = packets::listen_on(0);
    ASSERT_TRUE(door) << door.error().message;
    sockaddr_in6 own{};  // the port stands at the same place for both families
    socklen_t size = sizeof own;
    ::getsockname(door->get(), reinterpret_cast<sockaddr*>(&own), &size);
    port_ = ntohs(own.sin6_port);
    leading_ = std::thread([this, door = *std::move(door)]() mutable {
      led_ = packets::collect(options_, std::move(door), journal_);
    });
  }
  void join(int place, NcclEnv env = {}, int rails = kRails) {
    const std::string node = "gpu-" + std::to_string(place);
    const NodeFabric table = table_of(place, rails);
    const auto make = fabric_.make_of(node);
    auto own = packets::find_rails({table, table, env}, make);
    packets::MemberOptions options{"127.0.0.1", port_, kToken, place, node, options_.deadline, step_time_};
    members_.emplace_back([this, options, make, rails = std::move(own.rails)] {
      const Status ended = packets::run_member(options, rails, make);
      if (!ended) {
        const std::scoped_lock lock(mutex_);
        errors_.push_back(ended.error().message);
      }
    });
  }
  void finish() {
    if (leading_.joinable()) leading_.join();
    for (std::thread& member : members_) member.join();
    members_.clear();
  }
  // The journal up to now or, after finish(), as a whole.
  Proof told() {
    finish();
    Proof proof;
    std::istringstream lines(journal_.str());
    for (std::string line; std::getline(lines, line);) {
      const Status read = read_journal_line(line, proof);
      EXPECT_TRUE(read) << line << ": " << read.error().message;
    }
    return proof;
  }
  Proof run(int members) {
    lead(members);
    for (int place = 0; place < members; ++place) join(place);
    return told();
  }
  static std::string hello(int place, const std::string& token = kToken) {
    const ProofRail rail{.hca = "mlx5_0", .link_layer = LinkLayer::Ethernet};
    return token + " " +
           to_line(ProofMember{.place = place, .node = "gpu-" + std::to_string(place), .rails = {rail}}) +
           "\n";
  }

  FakeFabric fabric_;
  packets::CollectorOptions options_ = usual();
  std::chrono::milliseconds step_time_{5'000};
  std::ostringstream journal_;
  int port_ = 0;
  std::thread leading_;
  Status led_ = Error{"it has not run"};
  std::vector<std::thread> members_;
  std::mutex mutex_;
  std::vector<std::string> errors_;  // of members
};

// Rails of gpu-0 to rails of gpu-1, and a step: "0-0 1-1:packets@both(12)".
inline std::string text_of(const ProofPair& pair) {
  static constexpr std::array kSteps{"answer", "open",    "port",   "row",     "memory",
                                     "queue",  "connect", "packet", "packets", "bytes"};
  static constexpr std::array kEnds{"from", "to", "both"};
  std::string text;
  for (const ProofLink& link : pair.links) {
    if (!text.empty()) text += " ";
    text += std::to_string(link.from) + "-" + std::to_string(link.to);
    if (link.step) text += std::string(":") + kSteps[static_cast<std::size_t>(*link.step)];
    if (link.end) text += std::string("@") + kEnds[static_cast<std::size_t>(*link.end)];
    if (link.error) text += "(" + std::to_string(*link.error) + ")";
  }
  return text;
}
// "0>1: 0-0 1-1".
inline std::vector<std::string> pairs_of(const Proof& proof) {
  std::vector<std::string> texts;
  for (const ProofPair& pair : proof.pairs)
    texts.push_back(std::to_string(pair.from) + ">" + std::to_string(pair.to) + ": " + text_of(pair));
  return texts;
}

}  // namespace nccl_env::tests
