// SPDX-License-Identifier: Apache-2.0
// The part of libibverbs that moves a test's packets. Abstract so that tests have a fabric in memory, and so
// that only nccl-env-agent links the library (libibverbs.h). Nothing here waits for the network.
//
//   [ Member ]: a node's program  --- lines (core/proof/wire.h) over TCP ---> [ Collector ]
//        | owns                                                                    | owns
//        +----> [ OwnRail ]* ----> [ Device ]                                      +----> [ PairTalk ]*
//        +----> [ PairEnd ]* ----> [ QueuePair ]*: one a link, with 8 KiB          |
//                                       |                                          v
//                                       +--- packets ---> the peer's            journal
//
// The collector alone knows the plan; members never connect to each other but by queue pairs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "nccl_env/core/proof/wire.h"

namespace nccl_env::packets {

using Clock = std::chrono::steady_clock;

inline constexpr std::size_t kFirstBytes = 256;  // one packet at any MTU
inline constexpr std::size_t kAllBytes = 4096;   // fills a packet of any MTU

// A step that fails without a peer, and its errno.
struct RailFault {
  ProofStep step = ProofStep::Open;
  std::optional<int> error = {};
};
template <class Value>
using Attempt = std::variant<Value, RailFault>;

struct PortStatus {
  bool active = false;
  int mtu = 0;  // bytes
  int lid = 0;  // InfiniBand
};

// Packets as NCCL would send them.
struct QueueSettings {
  int port = 1;
  int gid_index = 0;
  Gid gid = {};       // of that row
  int partition = 0;  // its index
  int traffic_class = 0;
  int service_level = 0;
};

// A reliable connection with memory of its own: kAllBytes that the peer writes, and as many that it sends.
// Everything is released with it, and its key with that.
class QueuePair {
 public:
  QueuePair() = default;
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;
  virtual ~QueuePair() = default;

  // Its number, its first packet's and its key; the other fields are not touched.
  virtual void describe(LinkEnd& into) const = 0;
  virtual std::span<unsigned char> incoming() = 0;
  virtual std::span<unsigned char> outgoing() = 0;

  // Begins RTR and RTS. `mtu`: of the path, 256 to 4096.
  virtual void connect(const LinkEnd& peer, int mtu) = 0;
  // Begins a write of the first bytes of `outgoing` to the peer's `incoming`.
  virtual void write(std::size_t bytes) = 0;
  // Returns how the one that began last has ended, once: 0 for well, else errno of connect, or the status of
  // write's completion (enum ibv_wc_status).
  virtual std::optional<int> poll() = 0;
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  virtual Attempt<PortStatus> query_port(int port) = 0;
  // Makes one in state INIT.
  virtual Attempt<std::unique_ptr<QueuePair>> make_queue_pair(const QueueSettings& settings) = 0;
};

class Verbs {
 public:
  Verbs() = default;
  Verbs(const Verbs&) = delete;
  Verbs& operator=(const Verbs&) = delete;
  virtual ~Verbs() = default;

  virtual Attempt<std::shared_ptr<Device>> open(const std::string& hca) = 0;
};

}  // namespace nccl_env::packets
