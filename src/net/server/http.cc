// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/net/server/http.h"

#include <strings.h>

#include <nlohmann/json.hpp>

namespace nccl_env::net {

HttpResponse error_response(int status, std::string_view sentence) {
  const nlohmann::json body{{"error", sentence}};
  HttpResponse response;
  response.status = status;
  // ASCII only: the text goes to others' terminals and logs, and may hold control characters and marks that
  // reverse text.
  response.body = body.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  response.body += '\n';
  return response;
}

HttpResponse method_not_allowed(std::string_view allow) {
  HttpResponse response = error_response(405, "use " + std::string(allow));
  response.allow = allow;
  return response;
}

bool is_json(std::string_view content_type) {
  constexpr std::string_view kJson = "application/json";
  content_type = content_type.substr(0, content_type.find(';'));
  while (!content_type.empty() && (content_type.back() == ' ' || content_type.back() == '\t')) {
    content_type.remove_suffix(1);
  }
  return content_type.size() == kJson.size() &&
         ::strncasecmp(content_type.data(), kJson.data(), kJson.size()) == 0;
}

}  // namespace nccl_env::net
