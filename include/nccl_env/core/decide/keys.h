// SPDX-License-Identifier: Apache-2.0
// Labels and annotations of ours (docs/internals/decisions.md).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

namespace key {
inline constexpr std::string_view kPolicyLabel = "nccl-env.io/policy";  // on a Namespace
inline constexpr std::string_view kInject = "nccl-env.io/inject";       // label or annotation on a Pod
// Label on a Namespace or Pod, or annotation on a Pod: kAtBinding keeps our init container away.
inline constexpr std::string_view kResolve = "nccl-env.io/resolve";
inline constexpr std::string_view kAtBinding = "Binding";  // the only value of kResolve
inline constexpr std::string_view kStatus = "nccl-env.io/status";
inline constexpr std::string_view kNode = "nccl-env.io/node";
}  // namespace key

// The variables that a node gives, in the order in which they are written.
std::span<const std::string_view> node_variables();

// A shape of pods, for which a Binding writes one text of nccl.conf, and one of each engine's file: behind
// the prefix stands the file's name, or conf_file::kNoIndexText.
struct PodShape {
  std::string_view prefix;
  Exposure exposure;
  bool host_network;  // the pod is on the node's network
};
std::span<const PodShape> pod_shapes();
const PodShape& shape_of(Exposure exposure, bool host_network);
// Returns the shape whose texts have such keys; null for any other key.
const PodShape* shape_with(std::string_view annotation_key);
// "podowned.nccl-env.io/nccl.conf", the key of that shape's text for the file.
std::string text_key(const PodShape& shape, std::string_view file);

// True for the keys that only Binding writes: those with such a prefix, and the node annotation.
bool is_node_key(std::string_view annotation_key);
// True for the keys that nobody but nccl-env writes: the above, and the status.
bool is_own_key(std::string_view annotation_key);
// "metadata.annotations['KEY']", the fieldPath that reads it.
std::string field_path(std::string_view annotation_key);
// The KEY of such a fieldPath; "" of any other.
std::string_view annotation_of(std::string_view field_path);

}  // namespace nccl_env
