// SPDX-License-Identifier: Apache-2.0
// The plan for a pod at CREATE: which container gets which variable, and why not. Webhook, CLI and resolver
// call the functions of this folder, and nothing else decides. Rules: docs/internals/decisions.md.
//
//   CREATE:   [ Pod ] + [ NcclPolicy ] --> match --> wanted --> [ Plan ] --> patch of the pod
//                                                               |
//                                                               v
//                                           [ ContainerPlan ]* --> [ Value ]*
//
//   Binding:  [ NodeFabric ] + [ NcclPolicy ] + now --> [ NodeValues ] --> [ BindingPlan ] --> its patch
//
//   start:    [ NodeFabric ] of the pod itself + [ NcclPolicy ] --> [ Resolution ] --> nccl.conf
//
// Each line is a function of its left end alone. A plan has positions in the pod's lists, and so means
// nothing without its pod; a BindingPlan shares its policy and is kept for as long as the caller likes.
#pragma once

#include <optional>

#include "nccl_env/core/decide/planned.h"
#include "nccl_env/core/decide/snapshot.h"
#include "nccl_env/core/pod/claims.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

struct PlanOptions {
  std::optional<Resolver> resolver;  // absent: no pod gets one
  bool at_binding = false;           // no pod of this namespace gets one: its label says so
};

// `policy` applies to the pod's namespace. `claims` matter where needs_claims(); null: none is known.
Plan plan_pod(const Pod& pod, const NcclPolicy& policy, const PlanOptions& options = {},
              const PodClaims* claims = nullptr);

// Plans as plan_pod does, with what find_policy() found for the review's namespace. The plan is the whole
// answer for a pod at CREATE. A namespace whose label says Binding is planned as if PlanOptions::at_binding
// were set.
Plan plan_review(const PolicyLookup& found, const Review& review, const PlanOptions& options = {},
                 const PodClaims* claims = nullptr);

}  // namespace nccl_env
