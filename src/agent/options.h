// SPDX-License-Identifier: Apache-2.0
// The agent's command line.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "nccl_env/base/log.h"
#include "nccl_env/core/fabric/gid.h"
#include "node_labels.h"

namespace nccl_env::agent {

// Options by which show and run read devices.
struct ProbeArguments {
  std::filesystem::path sysfs;  // "": the kernel's own
  std::string node_name;        // "": the host's name
  std::optional<IpAddress> node_address;
  bool use_verbs = true;
};

struct AgentShowArguments {
  ProbeArguments probe;
  std::string policy_file;
  std::string output = "table";
};

struct AgentRunArguments {
  ProbeArguments probe;
  std::filesystem::path directory;   // --store dir:PATH; "": a cluster
  std::filesystem::path kubeconfig;  // "": the cluster that the agent runs in, or $KUBECONFIG
  std::vector<std::string> node_labels = usual_node_labels();  // keys, each once
  std::string ops_listen = ":8081";
  LogLevel log_level = LogLevel::Info;
  std::chrono::seconds refresh{3600};
  std::chrono::seconds look_anyway{60};
};

struct ResolveArguments {
  std::string table;            // a file with a NodeFabric in place of the devices; "": none
  std::filesystem::path sysfs;  // "": the kernel's own
  std::filesystem::path out;
  std::filesystem::path env_out;       // the file of EnvFile; "": none
  std::filesystem::path engine_files;  // the folder for files of engines; "": none
  std::vector<std::string> given;      // variables whose texts the environment has: nothing is looked for
  std::filesystem::path termination_log = "/dev/termination-log";
  double read_seconds = 1.5;  // 0.1 to 600: reading for longer gives an empty file
  bool host_network = false;
  bool strict = false;
};

struct FabricTestArguments {
  std::filesystem::path sysfs;  // "": the kernel's own
  std::string collector;
  int port = 7471;
  int members = 0;
  int place = -1;
  std::string node;
  std::chrono::seconds wait{60};
  std::chrono::seconds deadline{600};
  bool all_pairs = false;
  bool cross_rails = false;
  std::string nccl_version;  // "": the newest that is known
};

struct AgentArguments {
  enum class Command { Show, Run, Resolve, FabricTest } command = Command::Show;
  AgentShowArguments show;
  AgentRunArguments run;
  ResolveArguments resolve;
  FabricTestArguments fabric_test;
};

struct ParsedAgentOptions {
  std::optional<AgentArguments> arguments;
  int exit_code = 0;  // without arguments: 0 after --help, 2 for wrong usage
};
// Prints help, version and usage errors itself.
ParsedAgentOptions parse_agent_options(int argc, const char* const* argv);

}  // namespace nccl_env::agent
