// SPDX-License-Identifier: Apache-2.0
// Labels and annotations of ours (docs/internals/decisions.md).
#pragma once

#include <string>
#include <string_view>

namespace nccl_env {

namespace key {
inline constexpr std::string_view kPolicyLabel = "nccl-env.io/policy";  // on a Namespace
inline constexpr std::string_view kInject = "nccl-env.io/inject";       // label or annotation on a Pod
// Label on a Namespace or Pod, or annotation on a Pod: kAtBinding keeps our init container away.
inline constexpr std::string_view kResolve = "nccl-env.io/resolve";
inline constexpr std::string_view kAtBinding = "Binding";  // the only value of kResolve
inline constexpr std::string_view kStatus = "nccl-env.io/status";
inline constexpr std::string_view kNode = "nccl-env.io/node";
inline constexpr std::string_view kHostPrefix = "host.nccl-env.io/";
inline constexpr std::string_view kSubInterfacePrefix = "subinterface.nccl-env.io/";
// Prefixes that, with conf_file::kName behind them, name the texts of nccl.conf. Each kind of pod has its
// text: on the node's network (kHostNetworkPrefix), with the node's devices and a network of its own
// (kHostPrefix), behind a sub-interface (kSubInterfacePrefix), and with devices of its own (kPodOwnedPrefix).
inline constexpr std::string_view kHostNetworkPrefix = "hostnetwork.nccl-env.io/";
inline constexpr std::string_view kPodOwnedPrefix = "podowned.nccl-env.io/";
// Constants that differ from node to node: the same for all pods of a node, whatever they see of it.
inline constexpr std::string_view kConstantPrefix = "constant.nccl-env.io/";
}  // namespace key

// True for the keys that only Binding writes: those with one of the five prefixes, and the node annotation.
bool is_node_key(std::string_view annotation_key);
// True for the keys that nobody but nccl-env writes: the above, and the status.
bool is_own_key(std::string_view annotation_key);
// "metadata.annotations['KEY']", the fieldPath that reads it.
std::string field_path(std::string_view annotation_key);
// The KEY of such a fieldPath; "" of any other.
std::string_view annotation_of(std::string_view field_path);

}  // namespace nccl_env
