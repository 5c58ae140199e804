// SPDX-License-Identifier: Apache-2.0
// The part of libibverbs that moves a test's packets. Abstract so that tests have a fabric in memory, and so
// that only nccl-env-agent links the library (libibverbs.h). Nothing here waits for the network.
//
//   [ member ]: a node's program --- LinkWords (core/proof/lines.h) over TCP ---> [ collector ]
//        | owns                                                                        | owns
//        +----> [ OwnRail ]*                                                           +----> [ Talk ]*
//        +----> [ LinkEnd ]* ----> [ QueuePair ], with 8 KiB                           |
//                                      |                                               v
//                                      +--- packets ---> the peer's                journal
//
// The collector alone knows the plan; members never connect to each other but by queue pairs.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <variant>

#include "nccl_env/core/proof/lines.h"

namespace nccl_env::packets {

using Clock = std::chrono::steady_clock;

inline constexpr int kFirstBytes = 256;  // one packet at any MTU
inline constexpr int kAllBytes = 4096;   // fills a packet of any MTU

// A port, and packets as NCCL would send them.
struct OwnRail {
  ProofRail told;     // what the test says of it
  int partition = 0;  // its index
  int traffic_class = 0;
  int service_level = 0;
};

// A step that fails without a peer, and its errno.
struct RailFault {
  ProofStep step = ProofStep::Open;
  std::optional<int> error = {};
};

// A reliable connection with memory of its own: kAllBytes that the peer writes, and as many that it sends.
// Everything is released with it, and its key with that.
class QueuePair {
 public:
  QueuePair() = default;
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;
  virtual ~QueuePair() = default;

  // Its number, key, MTU and on InfiniBand LID; the other fields are not touched.
  virtual void describe(LinkWord& into) const = 0;
  virtual std::span<unsigned char> incoming() = 0;
  virtual std::span<unsigned char> outgoing() = 0;

  // Begins RTR and RTS. `mtu`: of the path, 256 to 4096.
  virtual void connect(const LinkWord& peer, int mtu) = 0;
  // Begins a write of the first bytes of `outgoing` to the peer's `incoming`.
  virtual void write(int bytes) = 0;
  // Returns how the one that began last has ended, once: 0 for well, else errno of connect, or the status of
  // write's completion (enum ibv_wc_status).
  virtual std::optional<int> poll() = 0;
};

// Makes one in state INIT, on a rail whose step is not looked at.
using MadeQueuePair = std::variant<std::unique_ptr<QueuePair>, RailFault>;
using MakeQueuePair = std::function<MadeQueuePair(const OwnRail& rail)>;

}  // namespace nccl_env::packets
