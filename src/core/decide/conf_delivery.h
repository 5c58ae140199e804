// SPDX-License-Identifier: Apache-2.0
// nccl.conf in a pod: the annotation that holds its text, where the file may be mounted, and the volume that
// carries it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nccl_env/core/decide/planned.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

// True if a volume of the user's is mounted at, above or below one of the file's places, or the command
// writes there: on our mount it would fail.
bool conf_is_occupied(const Container& container,
                      std::span<const std::string_view> places = conf_file::kPaths);

// Where a volume of the user's may bring a file that NCCL or RCCL read, or the command writes one: at or
// above one of the places, or a file of that name in a home directory. At most 128 bytes of the path; "" if
// nowhere.
std::string_view users_conf(const Container& container);

// Finds our mounts that are missing, and our mounts that do not belong there. Reads plan.mounts_conf,
// plan.names_conf and plan.engine_files.
void plan_mounts(const Container& container, ContainerPlan& plan);

enum class ConfVolume { None, FromAnnotation, Empty };
// The files of a volume of ConfVolume::FromAnnotation, and the keys of their texts' annotations.
using FileKeys = std::vector<std::pair<std::string_view, std::string>>;
ListChange plan_volume(const Pod& pod, ConfVolume wanted, const FileKeys& files);
// Where an engine's file is mounted.
std::string place_of(const Engine& engine);

// The plan's variables that the container's env does not hold yet, as entries of it, JSON.
std::vector<std::string> env_entries(const ContainerPlan& plan);

// Returns the policy's own lines for all nodes: its constants and literals. The socket interface is among
// them on a pod network; on the node's network, it depends on the node.
ConfValues policy_constants(const NcclPolicy& policy, bool host_network);

}  // namespace nccl_env
