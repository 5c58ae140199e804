// SPDX-License-Identifier: Apache-2.0
// Answers for a template what its pods will get, and why: the webhook's plan, patch and Binding are made on
// the template, and the pod that comes of it is explained as one of the cluster (explain/pod_answer.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/judge/explain/answered_pod.h"

namespace nccl_env {

struct TemplateInput {
  const Pod& pod;
  const nlohmann::json& object;           // that it was read from
  const Plan& plan;                       // of that pod
  PodSurroundings around;                 // with the policy of the plan; its table: that of its node
  const BindingPlan* binding = nullptr;   // to that node; null: node values are told as known at Binding
  PlanOptions options = {};               // of the plan
  std::vector<Value> from_launcher = {};  // that the launcher's command gives to ranks that sshd starts
};

AnsweredPod answer_template(const TemplateInput& input);
// The same where no policy counts; `around` says why.
AnsweredPod answer_template(const nlohmann::json& object, PodSurroundings around);

}  // namespace nccl_env
