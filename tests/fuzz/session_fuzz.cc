// SPDX-License-Identifier: Apache-2.0
// Any bytes as what a client sends on one connection, in pieces of any size: the session ends with its
// client, what it replies is whole, and the same however the bytes are cut.
#include "fuzz/conversation.h"

namespace nccl_env::fuzz::session_fuzz {
namespace {

// Says what it was asked without repeating it: no reply holds bytes of a client's choice.
net::HttpResponse answer(const net::HttpRequest& request) {
  const std::hash<std::string_view> hash;
  net::HttpResponse response;
  response.body = std::to_string(hash(request.method)) + " " + std::to_string(hash(request.target)) + " " +
                  std::to_string(request.body.size()) + " " + std::to_string(hash(request.body)) + "\n";
  return response;
}

}  // namespace

FUZZ_TARGET(session) {
  net::ServerOptions options;
  options.max_body = 4096;
  options.max_header = 1024;
  check_conversation(options, {answer}, input);
}

}  // namespace nccl_env::fuzz::session_fuzz
