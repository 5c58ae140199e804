// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/keys.h"

#include <algorithm>
#include <array>

namespace nccl_env {

bool is_node_key(std::string_view annotation_key) {
  constexpr std::array kPrefixes{key::kHostPrefix, key::kHostNetworkPrefix, key::kSubInterfacePrefix,
                                 key::kPodOwnedPrefix};
  return annotation_key == key::kNode ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return annotation_key.starts_with(prefix); });
}

std::string field_path(std::string_view annotation_key) {
  std::string path;
  path.reserve(64);  // the longest of ours
  return path.append("metadata.annotations['").append(annotation_key).append("']");
}

}  // namespace nccl_env
