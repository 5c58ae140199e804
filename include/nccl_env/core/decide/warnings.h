// SPDX-License-Identifier: Apache-2.0
// The warnings of a pod's plan, one row each (docs/internals/decisions.md, "Warnings"): settings that
// silently break RDMA and that the user can change. Where several containers are concerned, the pod's rows
// name the first.
#pragma once

#include <string>
#include <vector>

#include "nccl_env/core/decide/container_env.h"
#include "nccl_env/core/decide/match.h"
#include "nccl_env/core/decide/planned.h"
#include "nccl_env/core/pod/review.h"

namespace nccl_env {

// Why no init container of ours looks inside a pod that needs one.
enum class NoResolver { NameTaken, PolicyTooLong };

// A pod, and the part of it that is looked at.
struct WarningCase {
  const Pod& pod;
  const NcclPolicy* policy;  // null: none applies
  const PodMatch& match;     // without a policy its `skip` and `detail` alone
  std::optional<NoResolver> no_resolver = {};
  // One container that gets values; null when the pod is looked at.
  const Container* container = nullptr;
  const UserEnv* user = nullptr;
  const ContainerPlan* plan = nullptr;
  const Plan* made = nullptr;       // of the whole pod, once it is
  const EnvEntry* entry = nullptr;  // one of its user's, with a name that NCCL or another engine may read
};

// True for pods that would have been ours: without a policy these are pods that ask for a known RDMA
// resource.
bool looks_like_rdma(const Pod& pod);

// The moments at which warnings are looked for, in their order in a plan: so the most important come first.
enum class Moment { Skip, Resolver, Entry, Container, Pod };

// Adds what applies, and no more than kMostWarnings in all.
void add_warnings(Moment moment, const WarningCase& of, Plan& into);

}  // namespace nccl_env
