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

// Bytes of the node annotation, and as many of each text for what a node gives: two lists, some short lines.
constexpr std::size_t kBindingReserve = 4u << 10;

// Returns the bytes of the longest rules as JSON, which stand in one text.
std::size_t longest_spec(const NcclPolicy& policy) {
  std::size_t longest = 0, interface = policy.socket_interface.literal.size();
  const auto measure = [&](const FabricRule& rule) {
    std::size_t bytes = 256 + 48 * rule.subnets.size();
    for (const auto* globs : {&rule.hcas, &rule.netdevs, &rule.exclude_hcas}) {
      for (const std::string& glob : *globs) bytes += 2 * glob.size() + 3;  // a backslash becomes two
    }
    longest = std::max(longest, bytes);
  };
  if (policy.varies_fabric()) measure(policy.fabric);
  for (const PolicyVariant& variant : policy.variants) {
    if (variant.fabric) measure(*variant.fabric);
    if (variant.socket_interface) interface = std::max(interface, variant.socket_interface->literal.size());
  }
  return longest + (policy.varies_socket_interface() ? 256 + 8 * interface : 0);
}

}  // namespace

// Each text, of which any shape may have one without an index, holds the constants, and a policy's engines
// have theirs as notes or in files of their own.
std::size_t binding_reserve(const NcclPolicy& policy) {
  std::size_t text = kBindingReserve;
  for (const auto& [name, value] : policy_constants(policy, false)) text += name.size() + value.size() + 2;
  for (const std::string_view name : policy.varying()) {
    const auto usual = policy.env.find(name);
    std::size_t longest = usual == policy.env.end() ? 0 : usual->second.size();
    for (const PolicyVariant& variant : policy.variants) {
      if (const auto found = variant.env.find(name); found != variant.env.end())
        longest = std::max(longest, found->second.size());
    }
    text += name.size() + longest + 2;
  }
  for (const Engine* engine : policy.engines)
    text += engine->variables.empty() ? 0 : 2048 + 2 * engine->longest_line;
  return kBindingReserve + 2 * pod_shapes().size() * text + longest_spec(policy);
}

std::size_t annotation_budget(const Pod& pod, const Plan& plan, std::size_t reserve) {
  std::size_t bytes = key::kStatus.size() + plan.status.size() + reserve;
  for (const auto& [name, value] : pod.annotations) {
    if (name != key::kStatus && !is_node_key(name)) bytes += name.size() + value.size();
  }
  return bytes;
}

}  // namespace nccl_env
