// SPDX-License-Identifier: Apache-2.0
// Answers for a template what its pods will get, and why: the webhook's plan, patch and Binding are made on
// the template, and the pod that comes of it is explained as one of the cluster (explain/pod_answer.h).
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/decide/table_age.h"
#include "nccl_env/core/explain/answered_pod.h"

namespace nccl_env {

struct TemplateInput {
  const Pod& pod;
  const nlohmann::json& object;              // that it was read from
  const Plan& plan;                          // of that pod
  std::shared_ptr<const NcclPolicy> policy;  // that the plan is of
  std::string_view node = {};                // "" if none is known
  const BindingPlan* binding = nullptr;      // of that node; null: node values are told as known at Binding
  std::shared_ptr<const NodeFabric> table = {};  // of that node; null: nothing is told of NCCL's own choice
  NcclVersion version = kNewestNccl;
  const PodClaims* claims = nullptr;      // the pod's claims, as far as they are known; null: none is
  NodeContext context = {};               // of the binding
  PlanOptions options = {};               // of the plan
  std::string_view one_of = {};           // as PodSurroundings::one_of
  std::vector<Value> from_launcher = {};  // that the launcher's command gives to ranks that sshd starts
};

AnsweredPod answer_template(const TemplateInput& input);
// The same where no policy counts; `around` says why.
AnsweredPod answer_template(const nlohmann::json& object, PodSurroundings around);

}  // namespace nccl_env
