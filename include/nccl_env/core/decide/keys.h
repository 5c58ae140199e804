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
// Constants that differ from node to node: the same for all pods of a node, whatever they see of it.
inline constexpr std::string_view kConstantPrefix = "constant.nccl-env.io/";
}  // namespace key

// The variables that a node gives, in the order in which they are written.
std::span<const std::string_view> node_variables();

// The annotations that a Binding writes for one kind of pod: behind the prefix stand the names of the
// variables that the init container of EnvFile reads, conf_file::kName or kNvshmemText for the text of
// nccl.conf, and the names of engines' files for theirs.
struct NodeKeys {
  std::string_view prefix;
  Exposure exposure;
  bool host_network;                            // the text is for pods on the node's network
  std::span<const std::string_view> variables;  // Constants: none here, since the policy names them
  bool has_text = true;

  [[nodiscard]] constexpr bool has_variables() const { return !variables.empty() || !has_text; }
  // True for pods that share the node's devices.
  [[nodiscard]] constexpr bool has_list() const { return exposure != Exposure::PodOwned; }
};
std::span<const NodeKeys> node_keys();
// Returns the row for the text of such pods; with false also that of the variables.
const NodeKeys& keys_of(Exposure exposure, bool host_network);
// Returns the row whose text of nccl.conf or of an engine's file the key names; null for any other key.
const NodeKeys* keys_of_text(std::string_view annotation_key);
// Returns the row whose prefix the key has; null for any other key.
const NodeKeys* keys_with(std::string_view annotation_key);

// True for the keys that only Binding writes: those with such a prefix, and the node annotation.
bool is_node_key(std::string_view annotation_key);
// True for the keys that nobody but nccl-env writes: the above, and the status.
bool is_own_key(std::string_view annotation_key);
// "metadata.annotations['KEY']", the fieldPath that reads it.
std::string field_path(std::string_view annotation_key);
// The KEY of such a fieldPath; "" of any other.
std::string_view annotation_of(std::string_view field_path);

}  // namespace nccl_env
