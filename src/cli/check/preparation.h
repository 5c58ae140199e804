// SPDX-License-Identifier: Apache-2.0
// Judges whether nccl-env can be installed into a cluster, from what was seen of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/checked.h"
#include "cluster/dry_run.h"
#include "cluster/objects.h"

namespace nccl_env::cli {

// A kind of object that the manifests have.
struct InstalledKind {
  const char* group;
  const char* resource;
  bool namespaced;
};
// All of them; a test compares them with manifests/base.
const std::vector<InstalledKind>& installed_kinds();

// The caller's right to create objects of a kind.
struct CreateRight {
  std::string resource;         // "roles.rbac.authorization.k8s.io"
  std::optional<bool> allowed;  // nothing: not answered
};

struct Preparation {
  std::string name_space;  // to install into
  LookUp version;          // of the API server
  std::vector<CreateRight> rights;
  LookUp policy_crd, table_crd, mutating, validating;
  LookUp space;
  // The answer to a sample of the agent's pod; nothing if the namespace does not exist yet.
  std::optional<Result<DryRun>> agent;
  Result<std::vector<std::string>> opted_in = Error{"not asked"};  // namespaces
};

Checks judge_preparation(const Preparation& facts);

}  // namespace nccl_env::cli
