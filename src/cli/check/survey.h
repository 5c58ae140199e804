// SPDX-License-Identifier: Apache-2.0
// Reads the objects that `nccl-env check` judges. A sentence stands in place of an object that may not be
// read; fails only if the cluster does not answer.
//
//   the cluster --> [ survey ] --> [ InstalledParts ], [ Preparation ], [ Installation ]
//                                      |
//                                      v
//                                  judgements --> [ Checked ] --> text, JSON, exit code
//
// Only the surveys ask; judgements are functions of what was seen, and what they return owns its texts.
#pragma once

#include "check/installed_parts.h"
#include "check/preparation.h"

namespace nccl_env::cli {

// Needs get of the objects, list of pods in their namespace, and list of nodefabrics.
Result<InstalledParts> survey_parts(kube::ApiServer& client, Timestamp now);
// Needs get of the objects, list of namespaces, and create of pods in `name_space`, for a dry run.
Result<Preparation> survey_preparation(kube::ApiServer& client, const std::string& name_space);

}  // namespace nccl_env::cli
