// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/env_files.h"

#include <nlohmann/json.hpp>

#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env::kube {
namespace {

using Json = nlohmann::json;

constexpr int kCreated = 201;
constexpr int kUnprocessable = 422;

Json template_with_reference() {
  const Json reference{
      {"fileKeyRef", {{"volumeName", "values"}, {"path", "env"}, {"key", "NAME"}, {"optional", true}}}};
  const Json container{{"name", "look"},
                       {"image", "look"},
                       {"env", Json::array({{{"name", "NAME"}, {"valueFrom", reference}}})}};
  const Json spec{{"containers", Json::array({container})},
                  {"volumes", Json::array({{{"name", "values"}, {"emptyDir", Json::object()}}})}};
  return {{"apiVersion", "v1"},
          {"kind", "PodTemplate"},
          {"metadata", {{"generateName", "nccl-env-look-"}}},
          {"template", {{"metadata", Json::object()}, {"spec", spec}}}};
}

// The entry of the only container's env, as the server would store it.
const Json& stored_entry(const Json& object) {
  static const Json kNone;
  const Json& containers = items_at(member(member(object, "template"), "spec"), "containers");
  const Json& env = containers.empty() ? kNone : items_at(containers[0], "env");
  return env.empty() ? kNone : env[0];
}

}  // namespace

Result<EnvFiles> ask_for_env_files(ApiServer& server) {
  const auto name_space = server.name_space();
  if (!name_space) return name_space.error();
  Call call;
  call.method = "POST";
  call.target = "/api/v1/namespaces/" + *name_space + "/podtemplates?dryRun=All";
  call.content_type = kJson;
  call.body = template_with_reference().dump();
  const auto reply = server.call(call);
  if (!reply) return reply.error();
  if (reply->status == kUnprocessable || reply->status == kForbidden)
    return EnvFiles{false, servers_word(*reply)};
  if (reply->status != kCreated && reply->status != kOk)
    return Error{"whether the API server has fileKeyRef is not known: " + status_message(*reply)};
  const Json stored = parse_json(reply->body);
  const bool kept = member(member(stored_entry(stored), "valueFrom"), "fileKeyRef").is_object();
  return EnvFiles{kept, kept ? "" : "it drops the field"};
}

}  // namespace nccl_env::kube
