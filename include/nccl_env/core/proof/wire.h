// SPDX-License-Identifier: Apache-2.0
// What members and their collector say to each other: a line of JSON each, over one TCP connection a member.
//
//   member     --> hello: the token of the run, a space, and the member     once; whoever has no token is
//   none collector  --> Order: Prepare, Connect, Write, Check, Release          of one pair; End: of all
//   member     --> Reply: the pair, its ends, the links that failed        one for each order but Release and
//   End
//
// A link that a reply names neither among its ends nor among its faults went well.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/proof/proof.h"
#include "nccl_env/result.h"

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
  std::optional<std::vector<LinkRail>> rails = {};  // Prepare
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

// Lines without their end.
std::string hello_line(std::string_view token, const ProofMember& member);
std::string to_line(const Order& order);
std::string to_line(const Reply& reply);

// Compares the token in constant time, and reads nothing of a line that has another one.
Result<ProofMember> read_hello(std::string_view line, std::string_view token);
// An error of these names the field.
Result<Order> read_order(std::string_view line);
Result<Reply> read_reply(std::string_view line);

}  // namespace nccl_env
