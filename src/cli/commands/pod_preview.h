// SPDX-License-Identifier: Apache-2.0
// Previews the answer that a pod of a file would get, from other files.
#pragma once

#include <memory>
#include <string>

#include "cluster/objects.h"
#include "files/claim_files.h"
#include "files/pod_templates.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/explain/preview.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/program/inputs.h"

namespace nccl_env::cli {

struct Situation {
  std::shared_ptr<const NcclPolicy> policy;  // null: `problem` says why
  NamespacePolicy problem;                   // of a cluster's namespace
  ClaimFiles claims;
  program::Tables tables;
  std::string node;  // of the command line
  Timestamp now;
  NcclVersion version;
  PlanOptions plan;
  bool ages_count = true;  // false: no table is too old
};

// Reads the pod. If it names no namespace, it gets that of the object that holds it. Its views point into the
// parser and the template.
Result<Pod> parse_template(ReviewParser& parser, const PodTemplate& source);
std::string title_of(const PodTemplate& source);  // "MPIJob/resnet50 spec.…template"

// The node that the pod runs on: the pod's own, the situation's, or the only table's; "" without tables.
Result<std::string> node_of(const Pod& pod, const Situation& situation);
// Without tables, node values are shown as known only at Binding.
Explanation preview_pod(const Pod& pod, const std::string& node, const Situation& situation);

}  // namespace nccl_env::cli
