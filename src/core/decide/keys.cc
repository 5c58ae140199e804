// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/keys.h"

#include <algorithm>
#include <array>

namespace nccl_env {
namespace {

constexpr std::string_view kOpenPath = "metadata.annotations['";
constexpr std::string_view kClosePath = "']";

}  // namespace

bool is_node_key(std::string_view annotation_key) {
  constexpr std::array kPrefixes{key::kHostPrefix, key::kHostNetworkPrefix, key::kSubInterfacePrefix,
                                 key::kPodOwnedPrefix, key::kConstantPrefix};
  return annotation_key == key::kNode ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return annotation_key.starts_with(prefix); });
}

bool is_own_key(std::string_view annotation_key) {
  return annotation_key == key::kStatus || is_node_key(annotation_key);
}

std::string field_path(std::string_view annotation_key) {
  std::string path;
  path.reserve(64);  // the longest of ours
  return path.append(kOpenPath).append(annotation_key).append(kClosePath);
}

std::string_view annotation_of(std::string_view field_path) {
  if (!field_path.starts_with(kOpenPath)) return {};
  field_path.remove_prefix(kOpenPath.size());  // first: the two parts must not overlap
  if (!field_path.ends_with(kClosePath)) return {};
  field_path.remove_suffix(kClosePath.size());
  return field_path;
}

}  // namespace nccl_env
