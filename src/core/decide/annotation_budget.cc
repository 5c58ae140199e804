// SPDX-License-Identifier: Apache-2.0
#include "decide/annotation_budget.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "decide/conf_delivery.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/engines/engine.h"

namespace nccl_env {
namespace {

// Bytes that Binding may add later for the node's values; the texts that hold these values may take as many
// again.
constexpr std::size_t kBindingReserve = 8u << 10;

// Returns the bytes of the longest fabric as JSON, and of the longest interface, which stands in that JSON,
// in its own annotation and in the texts.
std::size_t longest_spec(const NcclPolicy& policy) {
  std::size_t longest = 0;
  const auto measure = [&](const FabricRule& rule) {
    std::size_t bytes = 256 + 48 * rule.subnets.size();
    for (const auto* globs : {&rule.hcas, &rule.netdevs, &rule.exclude_hcas}) {
      for (const std::string& glob : *globs) bytes += 2 * glob.size() + 3;  // a backslash becomes two
    }
    longest = std::max(longest, bytes);
  };
  std::size_t interface = policy.socket_interface.literal.size();
  if (policy.varies_fabric()) measure(policy.fabric);
  for (const PolicyVariant& variant : policy.variants) {
    if (variant.fabric) measure(*variant.fabric);
    if (variant.socket_interface) interface = std::max(interface, variant.socket_interface->literal.size());
  }
  return longest + (policy.varies_socket_interface() ? 256 + 8 * interface : 0);
}

// Counts the annotations of the varying constants. Each of the seven texts holds these constants and the
// others; six of the texts also hold what the node gives.
std::size_t binding_reserve(const NcclPolicy& policy) {
  std::size_t varying = 0;
  for (const std::string_view name : policy.varying()) {
    std::size_t longest = 0;
    const auto measure = [&](const ConstantMap& env) {
      if (const auto found = env.find(name); found != env.end())
        longest = std::max(longest, found->second.size());
    };
    measure(policy.env);
    for (const PolicyVariant& variant : policy.variants) measure(variant.env);
    varying += key::kConstantPrefix.size() + name.size() + longest + 2;
  }
  varying += longest_spec(policy);
  // Six texts of a file with up to two long lines, and some short variables in two rows.
  for (const Engine* engine : policy.engines)
    varying += engine->variables.empty() ? 0 : 2048 + 6 * 2 * engine->longest_line;
  std::size_t constants = varying;
  for (const auto& [name, value] : policy_constants(policy, false))
    constants += name.size() + value.size() + 2;
  return 3 * kBindingReserve + varying + 7 * constants;
}

}  // namespace

std::size_t annotation_budget(const Pod& pod, const Plan& plan, const NcclPolicy& policy) {
  std::size_t bytes = key::kStatus.size() + plan.status.size() + binding_reserve(policy);
  for (const auto& [name, value] : pod.annotations) {
    if (name != key::kStatus && !is_node_key(name)) bytes += name.size() + value.size();
  }
  return bytes;
}

}  // namespace nccl_env
