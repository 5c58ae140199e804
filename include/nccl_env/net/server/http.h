// SPDX-License-Identifier: Apache-2.0
// Requests and responses as a handler sees them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nccl_env::net {

// Number of bytes behind HttpRequest::body that may be read, with any content: simdjson's padding.
constexpr std::size_t kBodyPadding = 64;

// The views live until the handler returns.
struct HttpRequest {
  std::string_view method;
  std::string_view target;        // as sent: "/admit?timeout=10s"
  std::string_view content_type;  // as sent, empty if there is none
  std::string_view body;          // kBodyPadding bytes behind its end may be read
  int thread = 0;  // the calling thread: first `threads` event loops from 0, then `waiting_threads` that may
                   // wait, then the one that answers requests one at a time
  bool awaited = false;  // what it lacked came, or did not come in time (Handled)

  [[nodiscard]] std::string_view path() const { return target.substr(0, target.find('?')); }
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string allow;    // value of the Allow header; empty: none
  bool close = false;   // close the connection after this reply
  int retry_after = 0;  // seconds, as the value of the Retry-After header; 0: none
};

// `{"error":"<sentence>"}`. The sentence may hold any bytes; the body is ASCII, other characters are escaped.
HttpResponse error_response(int status, std::string_view sentence);
HttpResponse method_not_allowed(std::string_view allow);

// True for "application/json" in any case, with or without parameters.
bool is_json(std::string_view content_type);

}  // namespace nccl_env::net
