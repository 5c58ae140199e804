// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/version.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env::kube {
namespace {

using Json = nlohmann::json;
constexpr std::chrono::milliseconds kDeadline{3'000};

bool read_number(const std::string& text, int& into) {
  return std::from_chars(text.data(), text.data() + text.size(), into).ec == std::errc() && into >= 0;
}

}  // namespace

Result<ServerVersion> parse_version(std::string_view body) {
  const Json object = parse_json(body);
  ServerVersion version;
  if (!object.is_object() || !read_number(text_at(object, "major"), version.major) ||
      !read_number(text_at(object, "minor"), version.minor))
    return Error{"/version: the answer holds no version"};
  version.text = text_at(object, "gitVersion");
  if (version.text.empty())
    version.text = "v" + std::to_string(version.major) + "." + std::to_string(version.minor);
  return version;
}

Result<ServerVersion> server_version(Client& client) {
  Call call;
  call.target = "/version";
  call.deadline = kDeadline;
  const auto reply = client.call(call);
  if (!reply) return reply.error();
  if (reply->status != 200) return Error{"/version: " + status_message(*reply)};
  return parse_version(reply->body);
}

}  // namespace nccl_env::kube
