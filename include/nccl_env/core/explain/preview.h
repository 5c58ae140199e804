// SPDX-License-Identifier: Apache-2.0
// Tells the decisions of core/decide: what a pod gets on a node and why, and what NCCL makes of it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/decide/table_age.h"
#include "nccl_env/core/decide/value.h"
#include "nccl_env/core/engines/nccl/select.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/explain/engine_choices.h"
#include "nccl_env/core/findings/finding.h"
#include "nccl_env/core/pod/claims.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/policy/reasons.h"

namespace nccl_env {

struct ExplainInput {
  const Pod& pod;
  const nlohmann::json& object;          // that it was read from
  const Plan& plan;                      // of that pod
  std::string_view node = {};            // "" if none is known
  const BindingPlan* binding = nullptr;  // of that node; null: node values are told as known at Binding
  const NodeFabric* table = nullptr;     // of that node; null: nothing is told of NCCL's own choice
  NcclVersion version = kNewestNccl;
  const PodClaims* claims = nullptr;   // the pod's claims, as far as they are known; null: none is
  const NcclPolicy* policy = nullptr;  // that the plan is of; null: a remedy does not name its fields
  NodeContext context = {};            // of the binding
  PlanOptions options = {};            // of the plan
};

// The demands of a pod other than processors and memory, each once and at most 32 of a kind.
struct PodDemands {
  std::vector<std::string> resources;  // "nvidia.com/gpu"
  std::vector<std::string> claims;     // "nics: ResourceClaimTemplate ml/rdma (mrdma.google.com)"
  std::vector<std::string> networks;   // "ml/rail-0"
  std::vector<std::string> devices;    // host paths below /dev
  std::vector<std::string> misplaced;  // at spec.resources, where it has no effect
};

struct ExplainedContainer {
  std::string name;
  std::vector<Value> env;                  // in the order of the patch
  std::optional<std::vector<Value>> conf;  // the lines of nccl.conf, if it is mounted
  std::vector<Value> omitted;
  std::vector<Value> own;   // that the manifest sets itself, and that differ from ours; `detail` names ours
  bool names_conf = false;  // as in ContainerPlan
  bool env_from = false;    // it may have variables that are not seen here
  std::vector<Value> engine_lines = {};  // of the files of other engines

  // Returns the value of ours that the container gets, in env or file; nullptr if it gets none.
  [[nodiscard]] const Value* find(std::string_view variable) const;
};

struct Explanation {
  bool inject = false;
  std::optional<Reason> reason;  // why not; with DryRun `containers` holds what would be set
  std::string detail;
  std::string remedy;  // of the reason; "": nothing is to be done, or there is no reason
  std::string policy;
  std::string node;                  // "" if none
  std::optional<Exposure> exposure;  // absent for a pod that the policy leaves alone
  std::vector<ExplainedContainer> containers;
  std::vector<std::string> warnings;  // of the plan, but for those that are findings
  std::vector<Finding> findings;      // of the values, the worst first
  PodDemands demands;
  NcclVersion version;
  // NCCL's own choice in the first container that is in scope: with its own env, and with our variables
  // beside it. Absent without a table, and for pods with devices of their own.
  std::optional<NcclSelection> nccl_alone;
  std::optional<NcclSelection> nccl_with_us;
  std::vector<EngineChoices> engines = {};  // likewise, for those that the policy names
};

// Adds the finding of a pod that gets nothing by a mistake, for the explanation's reason.
void tell_mistake(const Pod& pod, Explanation& into);
Explanation explain(const ExplainInput& input);

}  // namespace nccl_env
