// SPDX-License-Identifier: Apache-2.0
// Finds the parts of nccl-env in a cluster, and who still needs them, for an uninstall in good order
// (docs/operate/install.md, Uninstall).
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "check/checked.h"
#include "cluster/objects.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::cli {

// Pods of one namespace.
struct NamedPods {
  static constexpr std::size_t kMaxNames = 10;  // that are kept
  std::size_t count = 0;
  std::vector<std::string> names;
};

using PodsByNamespace = std::map<std::string, NamedPods>;

struct Installation {
  std::vector<std::string> hooks;       // of MutatingWebhookConfiguration nccl-env, by name
  std::vector<std::string> validators;  // of ValidatingWebhookConfiguration nccl-env
  std::vector<std::string> crds;
  std::vector<std::string> opted_in;  // namespaces with the policy label
  PodsByNamespace waiting;            // pods that take values at their Binding
  PodsByNamespace of_image;           // pods that have not ended and have our init container
  std::set<std::string> images;       // of those init containers

  [[nodiscard]] bool has_hook(std::string_view name) const;
};

inline constexpr std::string_view kPodsHook = "pods.nccl-env.io";
inline constexpr std::string_view kBindingHook = "binding.nccl-env.io";
// Called for strict namespaces in place of these two.
inline constexpr std::string_view kStrictPodsHook = "strict-pods.nccl-env.io";
inline constexpr std::string_view kStrictBindingHook = "strict-binding.nccl-env.io";

// True if the pod has no node yet, and one of its envs or volumes reads an annotation that Binding writes.
bool waits_for_binding(const nlohmann::json& pod);

// Needs get of both webhook configurations and of CRDs, list of namespaces and pods.
Result<Installation> find_installation(kube::ApiServer& client);

// Lists the parts that are left, in the order of removal. is_good(findings_of()) once the binding hook may be
// removed: no pod may be admitted with our hooks and bound without them.
Checks judge_removal(const Installation& found);

}  // namespace nccl_env::cli
