// SPDX-License-Identifier: Apache-2.0
// Reads what `nccl-env check` judges. An object that may not be read says so in its place; fails only if the
// cluster does not answer.
#pragma once

#include "cluster/installed_parts.h"
#include "cluster/preparation.h"

namespace nccl_env::app {

// Needs get of the objects, list of pods there and of nodefabrics.
Result<InstalledParts> survey_parts(kube::ApiServer& client, Timestamp now);
// Needs get of the objects, list of namespaces and create of pods there, for a dry run.
Result<Preparation> survey_preparation(kube::ApiServer& client, const std::string& name_space);

}  // namespace nccl_env::app
