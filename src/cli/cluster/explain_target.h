// SPDX-License-Identifier: Apache-2.0
// explain pod/NAME and explain job/NAME: what is asked about, and where it is.
#pragma once

#include <memory>
#include <string>

#include "cluster/connection.h"
#include "cluster/context.h"
#include "commands/commands.h"
#include "nccl_env/core/decide/decide.h"
#include "nccl_env/core/nccl/rules.h"
#include "nccl_env/kube/client.h"

namespace nccl_env::app {

struct Target {
  enum class Kind { Pod, Job } kind = Kind::Pod;
  std::string name;  // "": of the file
};
// "pod/train-0", or "pod" and "train-0".
Result<Target> read_target(const std::vector<std::string>& words);

struct Asking {
  const ExplainArguments& arguments;
  Target target;
  Timestamp now;
  NcclVersion version;
};

// What to know of pods: from the cluster, to which `cluster` then holds the connection; for pods of a file
// from the policy and tables that the arguments name, without a connection. An error's code is in `code`.
Result<ContextReader> find_context(const Asking& asking, std::istream& in, Connection& cluster,
                                   ExitCode& code);

int explain_pod_target(const Asking& asking, const Terminal& terminal);
int explain_job_target(const Asking& asking, const Terminal& terminal);

// Any of the above, for the arguments.
int explain_target(const ExplainArguments& arguments, const Terminal& terminal);

}  // namespace nccl_env::app
