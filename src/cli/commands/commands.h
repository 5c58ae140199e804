// SPDX-License-Identifier: Apache-2.0
// The commands of nccl-env. Each adds itself, with its options, to the command line or to a group of it.
#pragma once

#include "commands/command_line.h"

namespace nccl_env::cli {

// Pods and jobs.
void add_explain(CommandLine& line, CLI::App& parent);
void add_verify(CommandLine& line, CLI::App& parent);
void add_what(CommandLine& line, CLI::App& parent);

// Nodes and their fabric.
void add_doctor(CommandLine& line, CLI::App& parent);
void add_nodes(CommandLine& line, CLI::App& parent);
void add_report(CommandLine& line, CLI::App& parent);
void add_fabric_test(CommandLine& line, CLI::App& fabric);

// This machine, without a cluster.
void add_env(CommandLine& line, CLI::App& parent);
void add_run(CommandLine& line, CLI::App& parent);

// Files: tables, policies, manifests.
void add_inject(CommandLine& line, CLI::App& parent);
void add_table_import(CommandLine& line, CLI::App& table);
void add_policy_check(CommandLine& line, CLI::App& policy);
void add_policy_cases(CommandLine& line, CLI::App& policy);

// The installation.
void add_installation_check(CommandLine& line, CLI::App& parent);
void add_bug_report(CommandLine& line, CLI::App& parent);
void add_completion(CommandLine& line, CLI::App& parent);

}  // namespace nccl_env::cli
