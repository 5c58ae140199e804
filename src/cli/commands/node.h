// SPDX-License-Identifier: Apache-2.0
// nccl-env nodes: all nodes on a line each, or all of one.
#pragma once

#include <string>
#include <vector>

#include "commands/command_line.h"
#include "commands/doctor.h"

namespace nccl_env::cli {

struct NodesArguments {
  std::vector<std::string> env;  // NAME=VALUE, of a process on the node
  std::string nccl_version;      // "": the policy's least, else the newest that is known
  DiagnosisArguments diagnosis;  // the first of its files may be a node's name
};

// Prints all of the node of that name.
int tell_node(const std::string& name, const NodesArguments& arguments, const Console& terminal);

}  // namespace nccl_env::cli
