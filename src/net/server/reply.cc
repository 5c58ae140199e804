// SPDX-License-Identifier: Apache-2.0
#include "server/reply.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace nccl_env::net {
namespace {

constexpr std::pair<int, std::string_view> kPhrases[] = {{200, "OK"},
                                                         {400, "Bad Request"},
                                                         {403, "Forbidden"},
                                                         {404, "Not Found"},
                                                         {405, "Method Not Allowed"},
                                                         {413, "Content Too Large"},
                                                         {415, "Unsupported Media Type"},
                                                         {417, "Expectation Failed"},
                                                         {431, "Request Header Fields Too Large"},
                                                         {500, "Internal Server Error"},
                                                         {501, "Not Implemented"},
                                                         {503, "Service Unavailable"},
                                                         {505, "HTTP Version Not Supported"}};

std::string_view reason_phrase(int status) {
  const auto* const found = std::find_if(std::begin(kPhrases), std::end(kPhrases),
                                         [status](const auto& phrase) { return phrase.first == status; });
  return found == std::end(kPhrases) ? "Status" : found->second;  // a phrase means nothing to clients
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
