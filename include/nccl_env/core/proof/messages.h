// SPDX-License-Identifier: Apache-2.0
// The messages of wire.h as values.
#pragma once

#include <optional>
#include <vector>

#include "nccl_env/core/proof/proof.h"

namespace nccl_env {

// One end of a link, as its peer needs it.
struct LinkEnd {
  int link = 0;  // its place in the pair
  int queue_pair = 0;
  int first_packet = 0;  // number of its first packet
  std::optional<Gid> gid = {};
  std::optional<int> lid = {};  // InfiniBand
  int mtu = 0;                  // bytes
  double key = 0;               // of the memory that the peer writes, from its first byte on: 32 bits
};

struct LinkRail {
  int link = 0;
  int rail = 0;  // of the member that is asked
};

enum class OrderWord { Prepare, Connect, Write, Check, Release, End };

struct Order {
  OrderWord word = OrderWord::End;
  std::optional<int> pair = {};                     // its number; of End absent
  std::optional<ProofEnd> end = {};                 // Prepare: which one the member is
  std::optional<std::vector<LinkRail>> rails = {};  // Prepare; Write and Check: links that are still asked
  std::optional<std::vector<LinkEnd>> ends = {};    // Connect: the peer's
};

struct LinkFault {
  int link = 0;
  ProofStep step = ProofStep::Answer;
  std::optional<int> error = {};
};

struct Reply {
  int pair = 0;
  OrderWord word = OrderWord::Prepare;            // the order that it answers
  std::optional<std::vector<LinkEnd>> ends = {};  // Prepare
  std::optional<std::vector<LinkFault>> faults = {};
};

}  // namespace nccl_env
