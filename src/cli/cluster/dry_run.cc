// SPDX-License-Identifier: Apache-2.0
#include "cluster/dry_run.h"

#include <array>

#include "nccl_env/core/text/enum_names.h"
#include "nccl_env/core/text/json_document.h"

namespace nccl_env::cli {
namespace {

constexpr int kServerError = 500;

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

}  // namespace

std::string_view to_string(Refuser refuser) {
  constexpr std::array<std::string_view, 9> kNames{"a ResourceQuota",
                                                   "a LimitRange",
                                                   "Pod Security",
                                                   "a ValidatingAdmissionPolicy",
                                                   "nccl-env, whose webhook does not answer",
                                                   "an admission webhook",
                                                   "the API server, for want of your rights",
                                                   "the API server's validation",
                                                   "the API server"};
  return name_in(kNames, refuser);
}

// The sentences are those of Kubernetes 1.30 to 1.36 (plugin/pkg/admission, apiserver/pkg/admission).
Refuser refuser_of(int status, std::string_view message) {
  if (holds(message, "failed calling webhook \"strict-pods.nccl-env.io\"")) return Refuser::Silence;
  if (holds(message, "admission webhook \"") || holds(message, "failed calling webhook"))
    return Refuser::Webhook;
  if (holds(message, "ValidatingAdmissionPolicy '")) return Refuser::Policy;
  if (holds(message, "violates PodSecurity")) return Refuser::PodSecurity;
  if (holds(message, "exceeded quota") || holds(message, "failed quota")) return Refuser::Quota;
  if (status == kube::kForbidden &&
      (holds(message, " usage per ") || holds(message, "limit to request ratio per ")))
    return Refuser::LimitRange;
  if (status == kube::kForbidden && holds(message, " cannot create resource ")) return Refuser::Rights;
  return status == kUnprocessable ? Refuser::Validation : Refuser::Other;
}

Result<DryRun> try_create(kube::ApiServer& client, const std::string& name_space, const nlohmann::json& pod) {
  kube::Call call;
  call.method = "POST";
  call.target = path_in(name_space, kube::kPods) + "?dryRun=All";
  call.content_type = "application/json";
  call.body = pod.dump();
  call.deadline = std::chrono::seconds(60);  // several webhooks may take up to 30 s each
  const auto reply = client.call(call);
  const std::string what = "dry run of a pod in " + name_space + ": ";
  if (!reply) return Error{what + reply.error().message};
  DryRun tried;
  if (reply->status == kCreated) {
    tried.admitted = true;
    tried.pod = parse_json(reply->body);
    if (!tried.pod.is_object()) return Error{what + "the answer is not an object"};
    return tried;
  }
  const std::string message = kube::status_message(*reply);
  tried.sentence = kube::servers_word(*reply);
  if (tried.sentence.empty()) tried.sentence = message;
  tried.refuser = refuser_of(reply->status, tried.sentence);
  if (tried.refuser == Refuser::Other && (reply->status > kServerError || reply->status == 401))
    return Error{what + message};
  return tried;
}

}  // namespace nccl_env::cli
