// SPDX-License-Identifier: Apache-2.0
// Tables and policies of a whole cluster: from files, a store's directory, or the API server.
#pragma once

#include <string>
#include <vector>

#include "commands/commands.h"
#include "nccl_env/program/inputs.h"

namespace nccl_env::app {

struct Fabric {
  Tables tables;
  Policies policies;
  std::vector<std::string> problems;  // one sentence for each object that was refused
};

// Of `files` (and the policy file) if there are any, of `store`, else of the cluster. An error's code tells
// wrong usage from what could not be read.
struct SourceFailure {
  ExitCode code = kDone;
  std::string message;
};
SourceFailure read_fabric(const SourceArguments& arguments, std::istream& in, Fabric& into);

// "3h", "90m", "45s"
Result<std::chrono::seconds> read_age(const std::string& text);

}  // namespace nccl_env::app
