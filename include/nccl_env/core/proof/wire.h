// SPDX-License-Identifier: Apache-2.0
// Messages of members and their collector: a line of JSON each, over one TCP connection a member.
//
//   member     --> hello: the token of the run, a space, and the member     once; else nothing is read
//
//   collector  --> Order: Prepare, Connect, Write, Check, Release           of one pair; End: of all
//
//   member     --> Reply: the pair, its ends, the links that failed         not to Release and End
//
// A link that a reply names neither among its ends nor among its faults went well.
#pragma once

#include <string>
#include <string_view>

#include "nccl_env/core/proof/messages.h"
#include "nccl_env/result.h"

namespace nccl_env {

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
