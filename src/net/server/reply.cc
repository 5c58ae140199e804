// SPDX-License-Identifier: Apache-2.0
#include "server/reply.h"

#include <string_view>

namespace nccl_env::net {
namespace {

// Phrases mean nothing to clients.
constexpr std::string_view kStatusLines =
    "200 OK\r400 Bad Request\r403 Forbidden\r404 Not Found\r405 Method Not Allowed\r413 Content Too Large\r"
    "415 Unsupported Media Type\r417 Expectation Failed\r431 Request Header Fields Too Large\r"
    "500 Internal Server Error\r501 Not Implemented\r503 Service Unavailable\r505 HTTP Version Not "
    "Supported\r";

}  // namespace

void format_reply(const HttpResponse& response, ReplyForm form, std::string& out) {
  out.clear();
  out.reserve(192 + response.allow.size() + response.content_type.size() + response.body.size());
  out += "HTTP/1.1 ";
  const std::string status = std::to_string(response.status) + ' ';
  const std::size_t line = kStatusLines.find(status);
  out += line == kStatusLines.npos ? std::string_view(status)
                                   : kStatusLines.substr(line, kStatusLines.find('\r', line) - line);
  if (!response.content_type.empty()) {
    out += "\r\nContent-Type: ";
    out += response.content_type;
  }
  if (!response.allow.empty()) {
    out += "\r\nAllow: ";
    out += response.allow;
  }
  if (response.retry_after > 0) {
    out += "\r\nRetry-After: ";
    out += std::to_string(response.retry_after);
  }
  if (!form.keep_alive) out += "\r\nConnection: close";
  if (form.keep_alive && form.http10) out += "\r\nConnection: keep-alive";
  out += "\r\nContent-Length: ";
  out += std::to_string(response.body.size());
  out += "\r\n\r\n";
  if (!form.head_only) out += response.body;
}

}  // namespace nccl_env::net
