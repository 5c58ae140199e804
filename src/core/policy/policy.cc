// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/policy/policy.h"

#include <algorithm>
#include <set>

#include "policy/words.h"

namespace nccl_env {

std::string_view to_string(Exposure value) {
  return name_in(words::kExposure, value);
}
std::string_view to_string(PolicyMode value) {
  return name_in(words::kMode, value);
}
std::string_view to_string(ContainerScope value) {
  return name_in(words::kContainers, value);
}
std::string_view to_string(OnUnresolved value) {
  return name_in(words::kOnUnresolved, value);
}

std::optional<Exposure> parse_exposure(std::string_view text) {
  const auto found = std::find(words::kExposure.begin(), words::kExposure.end(), text);
  if (found == words::kExposure.end()) return std::nullopt;
  return static_cast<Exposure>(found - words::kExposure.begin());
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

}  // namespace nccl_env
