// SPDX-License-Identifier: Apache-2.0
// The annotation nccl-env.io/status: what CREATE decided for a pod and its spec does not say, for people and
// for later reviews.
#pragma once

#include <map>
#include <set>
#include <string>

#include "nccl_env/core/decide/planned.h"
#include "nccl_env/core/pod/review.h"

namespace nccl_env {

// The status is the head, the words of each container that gets values, and an end.
EscapedText status_head(const NcclPolicy& policy, Exposure exposure);
EscapedText status_words(const ContainerPlan& container);
EscapedText render_status(const EscapedText& head, const Pod& pod, const Plan& plan);

// The policy whose values the pod was promised when it was created, as its status says; "" if it says none,
// or if the pod opts out: its author may have written that.
std::string promised_policy(const Pod& pod);
// True if the pod was created by values of nodes other than those that the policy means now. Of a pod, or
// policy, that does not tell, nothing is concluded.
bool is_of_other_values(const Pod& pod, const NcclPolicy& policy);

// Names in the pod's status, from an earlier review: by container, the constants and the variables that the
// file of EnvFile holds; and why the pod got nccl.conf instead of that file, a reason's name.
struct StatusNames {
  using Names = std::map<std::string, std::set<std::string, std::less<>>, std::less<>>;
  Names constants;
  Names env_file;
  std::string fallback;
};
StatusNames names_in_status(const Pod& pod);

}  // namespace nccl_env
