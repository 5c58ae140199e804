// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/policy/policy.h"

#include <set>

namespace nccl_env {

std::string_view to_string(Carrier value) {
  return value == Carrier::EnvFile ? "EnvFile" : "File";
}

std::vector<std::string_view> NcclPolicy::varying() const {
  std::set<std::string_view> names;
  for (const PolicyVariant& variant : variants) {
    for (const auto& constant : variant.env) names.insert(constant.first);
  }
  return {names.begin(), names.end()};
}

bool NcclPolicy::varies(std::string_view variable) const {
  return std::any_of(variants.begin(), variants.end(),
                     [&](const PolicyVariant& variant) { return variant.env.contains(variable); });
}

bool NcclPolicy::varies_fabric() const {
  return std::any_of(variants.begin(), variants.end(),
                     [](const PolicyVariant& variant) { return variant.fabric.has_value(); });
}

bool NcclPolicy::varies_socket_interface() const {
  return std::any_of(variants.begin(), variants.end(),
                     [](const PolicyVariant& variant) { return variant.socket_interface.has_value(); });
}

bool NcclPolicy::is_only(LinkLayer layer) const {
  return fabric.link_layer == layer &&
         std::all_of(variants.begin(), variants.end(), [&](const PolicyVariant& variant) {
           return !variant.fabric || variant.fabric->link_layer == layer;
         });
}

bool NcclPolicy::names(LinkLayer layer) const {
  return fabric.link_layer == layer ||
         std::any_of(variants.begin(), variants.end(), [&](const PolicyVariant& variant) {
           return variant.fabric && variant.fabric->link_layer == layer;
         });
}

std::string unavailable_engines(const NcclPolicy& policy) {
  std::string names;
  if (policy.deliver_env_file) return names;
  for (const Engine* engine : policy.engines) {
    if (engine != &nccl_engine() && engine->file.empty())
      names.append(names.empty() ? "" : ", ").append(engine->name);
  }
  return names;
}

}  // namespace nccl_env
