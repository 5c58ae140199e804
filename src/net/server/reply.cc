// SPDX-License-Identifier: Apache-2.0
#include "server/reply.h"

namespace nccl_env::net {
namespace {

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Status";  // the phrase means nothing to clients
  }
}

}  // namespace

void format_reply(const HttpResponse& response, ReplyForm form, std::string& out) {
  out.clear();
  out.reserve(192 + response.allow.size() + response.content_type.size() + response.body.size());
  out += "HTTP/1.1 ";
  out += std::to_string(response.status);
  out += ' ';
  out += reason_phrase(response.status);
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
