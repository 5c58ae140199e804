// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/policy/writer.h"

#include <nlohmann/json.hpp>

#include "nccl_env/core/nccl/variables.h"
#include "policy/described_writer.h"
#include "policy/words.h"

namespace nccl_env {

using Json = nlohmann::json;

Json to_json(const FabricRule& rule) {
  return described::write_policy_object(rule);
}

Json to_json(const HcaRule& rule) {
  if (rule.kind == HcaRule::Kind::Literal) return rule.literal;
  return name_in(words::kHca, rule.kind);
}

Json to_json(const GidIndexRule& rule) {
  if (rule.kind == GidIndexRule::Kind::Literal) return rule.literal;
  return name_in(words::kGidIndex, rule.kind);
}

Json to_json(const SocketInterfaceRule& rule) {
  if (rule.kind == SocketInterfaceRule::Kind::Literal) return rule.literal;
  return name_in(words::kSocketInterface, rule.kind);
}

Json to_json(const NcclPolicy& policy) {
  Json spec = described::write_policy_object(policy);
  if (policy.variants.empty()) spec.erase("variants");
  if (policy.partition_key) spec["env"].erase(std::string(variable::kIbPkeyValue));
  return {{"apiVersion", "nccl-env.io/v1alpha1"},
          {"kind", "NcclPolicy"},
          {"metadata", {{"name", policy.name}, {"generation", policy.generation}}},
          {"spec", std::move(spec)}};
}

}  // namespace nccl_env
