// SPDX-License-Identifier: Apache-2.0
// explain pod/NAME and explain job/NAME: what is asked about, and where it is.
#pragma once

#include <memory>
#include <string>

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

// The cluster and the namespace of the command line; without a client where pods come from a file.
struct Place {
  std::unique_ptr<kube::Client> client;
  std::string name_space;
};
Result<Place> find_place(const ClusterArguments& arguments);

struct Asking {
  const ExplainArguments& arguments;
  Target target;
  Timestamp now;
  NcclVersion version;
};
int explain_pod_target(const Asking& asking, const Terminal& terminal);
int explain_job_target(const Asking& asking, const Terminal& terminal);

// Any of the above, for the arguments.
int explain_target(const ExplainArguments& arguments, const Terminal& terminal);

}  // namespace nccl_env::app
