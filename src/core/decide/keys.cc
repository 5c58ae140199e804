// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/keys.h"

#include <algorithm>
#include <array>

#include "nccl_env/core/engines/nccl/variables.h"

namespace nccl_env {
namespace {

constexpr std::string_view kOpenPath = "metadata.annotations['";
constexpr std::string_view kClosePath = "']";

constexpr std::array kNodeVariables{variable::kIbHca,         variable::kIbGidIndex, variable::kIbAddrFamily,
                                    variable::kIbAddrRange,   variable::kIbPkey,     variable::kSocketIfname,
                                    variable::kNvshmemHcaList};

// manifests/base/bound-pods.yaml names the same prefixes; a test compares the two.
constexpr std::array kShapes{PodShape{"hostnetwork.nccl-env.io/", Exposure::Host, true},
                             PodShape{"host.nccl-env.io/", Exposure::Host, false},
                             PodShape{"subinterface.nccl-env.io/", Exposure::SubInterface, false},
                             PodShape{"podowned.nccl-env.io/", Exposure::PodOwned, false}};

}  // namespace

std::span<const std::string_view> node_variables() {
  return kNodeVariables;
}
std::span<const PodShape> pod_shapes() {
  return kShapes;
}

const PodShape& shape_of(Exposure exposure, bool host_network) {
  return *std::find_if(kShapes.begin(), kShapes.end(), [&](const PodShape& shape) {
    return shape.exposure == exposure && (exposure != Exposure::Host || shape.host_network == host_network);
  });
}

const PodShape* shape_with(std::string_view annotation_key) {
  const auto found = std::find_if(kShapes.begin(), kShapes.end(), [&](const PodShape& shape) {
    return annotation_key.starts_with(shape.prefix);
  });
  return found == kShapes.end() ? nullptr : &*found;
}

std::string text_key(const PodShape& shape, std::string_view file) {
  return std::string(shape.prefix).append(file);
}

bool is_node_key(std::string_view annotation_key) {
  return annotation_key == key::kNode || shape_with(annotation_key);
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
