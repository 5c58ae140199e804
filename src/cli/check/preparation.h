// SPDX-License-Identifier: Apache-2.0
// Judges whether nccl-env can be installed into a cluster, from what was seen of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/checked.h"
#include "check/installed_parts.h"
#include "cluster/objects.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::cli {

// A kind of object that the manifests have.
struct InstalledKind {
  const char* group;
  const char* resource;
  OwnSpace InstalledParts::*space = nullptr;  // null: of the whole cluster
};
// All of them; a test compares them with manifests/base.
const std::vector<InstalledKind>& installed_kinds();

// The caller's right to create objects of a kind.
struct CreateRight {
  std::string resource;         // "roles.rbac.authorization.k8s.io"
  std::optional<bool> allowed;  // nothing: not answered
};

// Its namespaces are those to install into; of the parts those of the whole cluster are read.
struct Preparation : InstalledParts {
  std::vector<CreateRight> rights;
  // The answer to a sample of the agent's pod; nothing if its namespace does not exist yet.
  std::optional<Result<DryRun>> agent;
};

// As survey_parts() does; `name_space`: the webhook's, "" for the manifests'. Needs get of the objects, and
// create of pods in the agents' namespace, for a dry run.
Result<Preparation> survey_preparation(kube::ApiServer& client, const std::string& name_space);

Checks judge_preparation(const Preparation& facts);

}  // namespace nccl_env::cli
