// SPDX-License-Identifier: Apache-2.0
// The environment of a process on this machine: decided as the webhook decides that of a hostNetwork pod,
// from what the kernel shows here. No cluster is asked.
//
//   /sys, netlink --> [ node::probe ] --> NodeFabric --+
//   --policy ------------------------> NcclPolicy -----+--> plan, binding --> [ MachineEnv ]
//   the process's own environment, its nccl.conf ------+     (core/decide)        |
//                                                                env prints it, run starts a command with it
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "commands/command_line.h"
#include "nccl_env/core/decide/value.h"
#include "nccl_env/core/findings/finding.h"
#include "nccl_env/core/policy/reasons.h"

namespace nccl_env::cli {

struct MachineArguments {
  program::PolicyArguments policy;
  std::string nccl_version;
  std::string sysfs;                 // a copy of /sys to read instead; "": this machine's
  std::string address;               // of the interface for socketInterface: FromNode; "": none
  bool ignore_environment = false;   // nothing is the user's: for another process's environment
  std::vector<std::string> engines;  // beside NCCL, in addition to the policy's
  std::vector<std::string> hcas;     // globs that name the fabric; none: the policy's
};
void add_machine_options(CLI::App& app, MachineArguments& into);

struct MachineEnv {
  // The sentence where there is nothing to decide by: neither a port, nor one that NCCL reaches through
  // verbs;
  // "": there is one.
  std::string nothing;
  std::string disabled;               // the sentence where the user's own setting keeps NCCL from the fabric
  std::vector<Value> given;           // in name order, each with its text
  std::vector<Value> omitted;         // and why
  std::string unlisted;               // the sentence where the list that is given names not all HCAs; else ""
  bool by_policy = false;             // somebody wrote what to leave out
  std::string ports;                  // "Active: 8 x InfiniBand mlx5_0,…; not Active: 2 x InfiniBand …"
  std::vector<Finding> findings;      // of the user's own values, and of what NCCL makes of all
  std::vector<std::string> problems;  // devices that could not be read
};

// The remedy in the words of a machine, which has neither a pod nor a table in a file.
std::string_view remedy_here(Reason reason);

// Decides beside what this process has in its environment. Fails with kUsage for a wrong argument, with
// kNotSeen for a policy that cannot be read.
program::Failure decide_environment(const MachineArguments& machine, std::istream& in, MachineEnv& into);

}  // namespace nccl_env::cli
