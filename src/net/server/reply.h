// SPDX-License-Identifier: Apache-2.0
// The bytes of a handler's answer (net/server/http.h).
#pragma once

#include <string>

#include "nccl_env/net/server/http.h"

namespace nccl_env::net {

struct ReplyForm {
  bool keep_alive = true;
  bool http10 = false;     // the client must be told that the connection stays
  bool head_only = false;  // the reply to HEAD: the header alone
};

// Replaces `out` with the whole reply, header and body: it is written as one buffer.
void format_reply(const HttpResponse& response, ReplyForm form, std::string& out);

}  // namespace nccl_env::net
