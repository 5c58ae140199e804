// SPDX-License-Identifier: Apache-2.0
// A create that the API server only tries (dryRun=All), with the caller's own rights: returns the pod as it
// would be, or who refuses it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::cli {

// HTTP statuses of a create.
inline constexpr int kCreated = 201, kUnprocessable = 422;

// The party that refuses a pod, by the form of the API server's sentence.
enum class Refuser {
  Quota,        // ResourceQuota
  LimitRange,   //
  PodSecurity,  //
  Policy,       // a ValidatingAdmissionPolicy
  Silence,      // nccl-env's hook of strict namespaces, which got no answer
  Webhook,      // another one, such as an image policy's, which refuses or is not there
  Rights,       // the caller has no right to create pods
  Validation,   // the pod's form
  Other,
};
std::string_view to_string(Refuser refuser);  // "a ResourceQuota"

struct DryRun {
  bool admitted = false;
  nlohmann::json pod;                // as it would be, if it is admitted
  Refuser refuser = Refuser::Other;  // else
  std::string sentence;              // the API server's, if it is not admitted
};

Refuser refuser_of(int status, std::string_view message);

// An error only where the API server gave no answer to the question.
Result<DryRun> try_create(kube::ApiServer& client, const std::string& name_space, const nlohmann::json& pod);

}  // namespace nccl_env::cli
