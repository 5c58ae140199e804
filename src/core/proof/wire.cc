// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/proof/wire.h"

#include "proof/message.h"

namespace nccl_env {
namespace {

bool is_same(std::string_view given, std::string_view token) {
  unsigned differing = given.size() != token.size() ? 1 : 0;
  for (std::size_t at = 0; at < token.size() && at < given.size(); ++at)
    differing |= static_cast<unsigned char>(given[at]) ^ static_cast<unsigned char>(token[at]);
  return differing == 0 && !token.empty();
}

}  // namespace

std::string hello_line(std::string_view token, const ProofMember& member) {
  return std::string(token) + " " + proof::line_of(member);
}
std::string to_line(const Order& order) {
  return proof::line_of(order);
}
std::string to_line(const Reply& reply) {
  return proof::line_of(reply);
}

Result<ProofMember> read_hello(std::string_view line, std::string_view token) {
  const std::size_t end = line.find(' ');
  if (end == std::string_view::npos || !is_same(line.substr(0, end), token))
    return Error{"it does not have the token of this test"};
  return proof::read_line(line.substr(end), described::read_object<ProofMember>);
}
Result<Order> read_order(std::string_view line) {
  return proof::read_line(line, described::read_object<Order>);
}
Result<Reply> read_reply(std::string_view line) {
  return proof::read_line(line, described::read_object<Reply>);
}

}  // namespace nccl_env
