// SPDX-License-Identifier: Apache-2.0
// Any bytes to the server of health and metrics, with its own limits: as for `session`, and no reply holds
// more than it has to say.
#include "fuzz/conversation.h"
#include "nccl_env/net/server/ops_server.h"

namespace nccl_env::fuzz::ops_fuzz {
namespace {

net::HttpResponse answer(const net::HttpRequest& request) {
  const net::OpsSources sources{[] { return std::string(); }, [] { return std::string("draining"); },
                                [] { return std::string("nccl_env_ready 0\n"); }};
  net::HttpResponse response = net::answer_ops(request, sources);
  require(response.body.size() < 100, "no reply grows with its request");
  require(response.status == 200 || response.body != "ok\n", "only what is well is 200");
  return response;
}

}  // namespace

FUZZ_TARGET(ops) {
  check_conversation(net::ops_server_options("127.0.0.1:0", nullptr), {answer}, input);
}

}  // namespace nccl_env::fuzz::ops_fuzz
