// SPDX-License-Identifier: Apache-2.0
// The pods that exist and that explain is asked about: pod/NAME, job/NAME, or those of a file.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "cluster/connection.h"
#include "cluster/context.h"
#include "commands/explain.h"
#include "nccl_env/core/nccl/version.h"
#include "nccl_env/core/text/timestamp.h"

namespace nccl_env::cli {

struct Target {
  enum class Kind { Pod, Job } kind = Kind::Pod;
  std::string name;  // "": of the file
};

struct ExplainRequest {
  const ExplainArguments& arguments;
  Target target;
  Timestamp now;
  NcclVersion version;
};

// An error is a mistake on the command line.
Result<ExplainRequest> read_request(const ExplainArguments& arguments, const std::string& form);

// Finds the source of the objects that explain the pods. This is the cluster, and `cluster` then holds the
// connection; for pods of a file, the policy and tables that the arguments name, without a connection.
program::Failure find_context(const ExplainRequest& request, std::istream& in, Connection& cluster,
                              std::optional<ContextReader>& into);

// The values that a pod has, and why.
int explain_pod(const ExplainRequest& request, const Console& terminal);
// All ranks of a job beside each other.
int explain_job(const ExplainRequest& request, const Console& terminal);

}  // namespace nccl_env::cli
