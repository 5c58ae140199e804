// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/choose/fabric_rule.h"

#include "choose/variant_search.h"

namespace nccl_env {

NodeFabricRule fabric_rule(const NcclPolicy& policy, const NodeFabric& table) {
  if (!policy.varies_fabric()) return {&policy.fabric, {}};
  const auto names = [](const PolicyVariant& variant) { return variant.fabric.has_value(); };
  const auto judge = [&](std::size_t i) { return judge_labels(policy.variants[i].when, table); };
  const VariantSearch search = find_variant(policy, names, judge);
  switch (search.end) {
    case VariantSearch::End::Found:
      return {&*policy.variants[search.index].fabric, "fabric of " + search.why};
    case VariantSearch::End::Open:
      return {nullptr, search.why};
    case VariantSearch::End::None:
      break;
  }
  return {&policy.fabric, "fabric of spec; " + search.why};
}

const std::vector<Cidr>& fabric_subnets(const NcclPolicy& policy, const NodeFabric& table) {
  static const std::vector<Cidr> kNone;
  const FabricRule* rule = fabric_rule(policy, table).rule;
  return rule ? rule->subnets : kNone;
}

}  // namespace nccl_env
