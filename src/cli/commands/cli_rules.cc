// SPDX-License-Identifier: Apache-2.0
// The options of nccl select, policy check, reasons.
#include "command_line.h"

namespace nccl_env::app {
namespace {

void add_select(CommandLine& line, CLI::App& parent) {
  auto arguments = std::make_shared<SelectArguments>();
  SelectArguments& to = *arguments;
  CLI::App& app =
      line.command(parent,
                   {"select", "Tell which HCAs, GID indexes and interfaces NCCL takes by its own rules.",
                    "nccl-env nccl select --table gpu-1.yaml --nccl-version 2.21.5 --env NCCL_IB_HCA=mlx5"},
                   select_with_nccl, arguments);
  app.add_option("--table", to.table, "File with a NodeFabric")->required()->type_name("FILE");
  app.add_option("--node", to.node, "Which node, where the file holds several");
  add_nccl_version(app, to.nccl_version);
  app.add_option("--env", to.env, "A variable of the process; may be given again")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  add_output(app, to.output, {"text", "json"});
}

void add_check(CommandLine& line, CLI::App& parent) {
  auto arguments = std::make_shared<CheckArguments>();
  CheckArguments& to = *arguments;
  CLI::App& app = line.command(
      parent,
      {"check",
       "Print what is wrong with policies, a line for each finding: FILE: POLICY: error|warning: "
       "PATH: MESSAGE. Exit 1 if one is an error; warnings alone exit 0.",
       "nccl-env policy check policies/*.yaml"},
      check_policies, arguments);
  add_code_paths(app, to.allow_code_paths);
  app.add_option("FILE", to.files, "Files with NcclPolicies; - is the standard input")
      ->required()
      ->type_name("");
}

void add_reasons(CommandLine& line, CLI::App& parent) {
  auto arguments = std::make_shared<ReasonsArguments>();
  ReasonsArguments& to = *arguments;
  CLI::App& app = line.command(
      parent,
      {"reasons", "What the reasons mean, and what to do about each.", "nccl-env reasons GidNotUniform"},
      list_reasons, arguments);
  app.add_option("NAME", to.name, "One reason; default: all")->type_name("");
}

}  // namespace

void add_rule_commands(CommandLine& line) {
  add_select(line, line.group("nccl", "What NCCL itself does"));
  add_check(line, line.group("policy", "Policies (NcclPolicy)"));
  add_reasons(line, line.root());
}

}  // namespace nccl_env::app
