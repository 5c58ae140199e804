// SPDX-License-Identifier: Apache-2.0
#include "cluster/objects.h"

namespace nccl_env::app {
namespace {

const std::string kGroup = "/apis/nccl-env.io/v1alpha1/";

}  // namespace

Asked ask_pod(const std::string& name_space, const std::string& name) {
  return {"/api/v1/namespaces/" + kube::escaped(name_space) + "/pods/" + kube::escaped(name),
          "get pods " + name_space + "/" + name};
}

Asked ask_namespace(const std::string& name) {
  return {"/api/v1/namespaces/" + kube::escaped(name), "get namespaces " + name};
}

Asked ask_policy(const std::string& name) {
  return {kGroup + "ncclpolicies/" + kube::escaped(name), "get ncclpolicies.nccl-env.io " + name};
}

Asked ask_table(const std::string& node) {
  return {kGroup + "nodefabrics/" + kube::escaped(node), "get nodefabrics.nccl-env.io " + node};
}

LookUp look_up(kube::Client& client, const Asked& asked) {
  using Outcome = LookUp::Outcome;
  kube::Call call;
  call.target = asked.target;
  const auto reply = client.call(call);
  if (!reply) return {Outcome::Failed, {}, client.server() + ": " + reply.error().message};
  if (reply->status == 403) return {Outcome::Forbidden, {}, "not allowed: " + asked.words};
  if (reply->status == 404) return {Outcome::Absent, {}, asked.words + ": there is none"};
  if (reply->status != 200) return {Outcome::Failed, {}, asked.words + ": " + kube::status_message(*reply)};
  LookUp found{Outcome::Found, nlohmann::json::parse(reply->body, nullptr, false), {}};
  if (!found.object.is_object()) return {Outcome::Failed, {}, asked.words + ": the answer is no object"};
  return found;
}

}  // namespace nccl_env::app
