// SPDX-License-Identifier: Apache-2.0
// nccl.conf in a pod: where it may be mounted, and the volume that carries it.
#pragma once

#include <optional>
#include <string>

#include "nccl_env/core/decide/decide.h"

namespace nccl_env {

// A volume of the user's is mounted at, above or below the file's place.
bool conf_is_occupied(const Container& container);

// What of our mounts is there already, and what of them does not belong there. Reads plan.mounts_conf.
void plan_mounts(const Container& container, ContainerPlan& plan);

enum class ConfVolume { None, FromAnnotation, Empty };
// `annotation_key`: that of the text, for ConfVolume::FromAnnotation.
ListChange plan_volume(const Pod& pod, ConfVolume wanted, const std::string& annotation_key);

// Whose node values a volume of ours brings; nothing where there is none, or where it brings constants only.
std::optional<Exposure> exposure_of_file(const Pod& pod);

}  // namespace nccl_env
